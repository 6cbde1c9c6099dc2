//! Charts as SVG.

use bcfsort_term::fault::Fault;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::ops::Range;

/// The size and the layout of a chart.
struct Look {
    width: u32,
    height: u32,
    /// Height of the title.
    top: u32,
    /// Width of the legend.
    legend: u32,
    /// Width of the numbers and the label of the y axis.
    numbers: u32,
    /// Width of the bars' names.
    names: u32,
    /// Width right of the bars, for the last value.
    values: u32,
    /// Distance from the title to the legend. If `None`, each name is beside the end of its line,
    /// and the first line's name is bold.
    legend_from: Option<i32>,
}

/// The layout of a chart of the report.
const REPORT: Look = Look {
    width: 960,
    height: 560,
    top: 44,
    legend: 250,
    numbers: 74,
    names: 190,
    values: 90,
    legend_from: Some(20),
};

/// The layout of a picture of the documentation. It is drawn smaller than it is shown, so text,
/// lines and markers are enlarged, and stay readable where a page shows the picture at half its
/// size.
const PICTURE: Look = Look {
    width: SHOWN.0 * 2 / 3,
    height: SHOWN.1 * 2 / 3,
    top: 56,
    legend: 166,
    numbers: 50,
    names: 132,
    values: 196,
    legend_from: None,
};

/// The displayed size of a picture.
pub(crate) const SHOWN: (u32, u32) = (960, 540);

const FONT: &str = "sans-serif";
const GREY: RGBColor = RGBColor(90, 90, 90);

/// Okabe and Ito's colours, which people with any colour vision can distinguish. The markers'
/// shapes differ, too. Their yellow is left out as too pale for lines.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(0, 0, 0),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

/// The style of a line that is not a contender.
pub(crate) const NEUTRAL: usize = usize::MAX;

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    Linear,
    /// Ticks at powers of two.
    Log2,
    /// Ticks at 1, 2 and 5 times powers of ten.
    Log10,
}

/// An axis: its label with the unit, and its scale.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(crate) scale: Scale,
}

impl Axis {
    pub(crate) fn new(label: &str, scale: Scale) -> Self {
        Self {
            label: label.to_owned(),
            scale,
        }
    }
}

/// A point and its error bar.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Point {
    /// A point without an error bar.
    pub(crate) const fn exact(x: f64, y: f64) -> Self {
        Self {
            x,
            y,
            low: y,
            high: y,
        }
    }
}

/// A line of a chart.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<Point>,
    /// Index of the colour and the marker's shape.
    pub(crate) style: usize,
    /// True for a dashed line: a quantity that is not measured, or the second line of a style.
    pub(crate) dashed: bool,
    /// True for a line without markers: a model.
    pub(crate) plain: bool,
}

impl Line {
    pub(crate) fn new(name: impl Into<String>, style: usize, points: Vec<Point>) -> Self {
        Self {
            name: name.into(),
            points,
            style,
            dashed: false,
            plain: false,
        }
    }

    pub(crate) const fn dashed(mut self) -> Self {
        self.dashed = true;
        self
    }

    /// Styles the line as a model.
    pub(crate) const fn model(mut self) -> Self {
        self.dashed = true;
        self.plain = true;
        self
    }

    const fn colour(&self) -> RGBColor {
        if self.style == NEUTRAL {
            GREY
        } else {
            COLOURS[self.style % COLOURS.len()]
        }
    }

    /// Line width. The first line is drawn below the others, and wider, so that it shows where they
    /// cover it.
    const fn width(&self) -> u32 {
        if self.style == 0 && !self.plain { 4 } else { 2 }
    }
}

/// A chart.
#[derive(Clone, Debug)]
pub(crate) enum Chart {
    /// Lines in x and y.
    Lines {
        title: String,
        x: Axis,
        y: Axis,
        lines: Vec<Line>,
    },
    /// One horizontal bar for each name, with its value. The points' x is ignored.
    Bars {
        title: String,
        x: Axis,
        bars: Vec<(String, Point)>,
    },
    /// Two horizontal bars for each name, the first one pale, with a text beside each.
    Pairs {
        title: String,
        x: Axis,
        pairs: Vec<(String, [(f64, String); 2])>,
    },
}

impl Chart {
    /// The names of the lines or bars.
    pub(crate) fn names(&self) -> Vec<&str> {
        match self {
            Self::Lines { lines, .. } => lines.iter().map(|line| line.name.as_str()).collect(),
            Self::Bars { bars, .. } => bars.iter().map(|(name, _)| name.as_str()).collect(),
            Self::Pairs { pairs, .. } => pairs.iter().map(|(name, _)| name.as_str()).collect(),
        }
    }

    /// Draws the chart as an SVG document for the report.
    pub(crate) fn svg(&self) -> Result<String, Fault> {
        self.draw(&REPORT, true)
    }

    /// Draws the chart as an SVG document for the documentation.
    pub(crate) fn picture(&self) -> Result<String, Fault> {
        let svg = self.draw(&PICTURE, false)?;
        let title = match self {
            Self::Lines { title, .. } | Self::Bars { title, .. } | Self::Pairs { title, .. } => {
                title
            }
        };
        let body = svg.split_once(">\n").map_or("", |(_, body)| body);
        let body = body.strip_suffix("</svg>\n").unwrap_or(body);
        Ok(card([PICTURE.width, PICTURE.height], title, body))
    }

    fn draw(&self, look: &Look, filled: bool) -> Result<String, Fault> {
        let mut svg = String::new();
        {
            let size = (look.width, look.height);
            let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            self.draw_on(&root, look, filled)
                .and_then(|()| root.present().map_err(|error| error.to_string()))
                .map_err(|error| Fault::Usage(format!("cannot draw a chart: {error}")))?;
        }
        Ok(svg)
    }

    fn draw_on(&self, root: &Area<'_>, look: &Look, filled: bool) -> Result<(), String> {
        if filled {
            root.fill(&WHITE).map_err(|error| error.to_string())?;
        }
        match self {
            Self::Lines { title, x, y, lines } => draw_lines(root, look, title, [x, y], lines),
            Self::Bars { title, x, bars } => {
                let bars = bars.iter().enumerate().map(|(i, (name, point))| {
                    let bar = Bar {
                        name: Some((name.as_str(), 0.5)),
                        point: *point,
                        label: super::stats::digits(point.y),
                        colour: COLOURS[i % COLOURS.len()].mix(0.8),
                        span: [0.2, 0.8],
                    };
                    (i, bar)
                });
                let all: Vec<(usize, Bar<'_>)> = bars.collect();
                draw_bars(root, look, title, x, &all, all.len())
            }
            Self::Pairs { title, x, pairs } => {
                let mut all = Vec::new();
                for (i, (name, [first, second])) in pairs.iter().enumerate() {
                    let colour = COLOURS[i % COLOURS.len()];
                    let bar = |value: &(f64, String), name, opacity, span| Bar {
                        name,
                        point: Point::exact(0.0, value.0),
                        label: value.1.clone(),
                        colour: colour.mix(opacity),
                        span,
                    };
                    // The name is centered between the two bars.
                    let name = Some((name.as_str(), 0.5));
                    all.push((i, bar(first, None, 0.35, [0.5, 0.9])));
                    all.push((i, bar(second, name, 1.0, [0.1, 0.5])));
                }
                draw_bars(root, look, title, x, &all, pairs.len())
            }
        }
    }
}

/// A bar of a chart.
struct Bar<'a> {
    /// The name at its left end, and the name's height within the row.
    name: Option<(&'a str, f64)>,
    point: Point,
    /// The text at its right end.
    label: String,
    colour: RGBAColor,
    /// Its lower and upper edge, as fractions of the row's height.
    span: [f64; 2],
}

/// An SVG document for light and dark pages: the drawing is on a white card, so that the contrast
/// is the same on both. `size` is the size of the body; the document is `SHOWN.0` wide.
pub(crate) fn card([width, height]: [u32; 2], title: &str, body: &str) -> String {
    let title = title
        .replace('\n', ". ")
        .replace('&', "&amp;")
        .replace('<', "&lt;");
    let shown = SHOWN.0 * height / width;
    format!(
        "<svg width=\"{}\" height=\"{shown}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         xmlns=\"http://www.w3.org/2000/svg\">\n<title>{title}</title>\n\
         <rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"8\" fill=\"#FFFFFF\" \
         stroke=\"#D0D7DE\"/>\n{body}</svg>\n",
        SHOWN.0,
        width - 1,
        height - 1,
    )
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The layout of an axis: its range and its ticks.
#[derive(Clone)]
struct Layout {
    scale: Scale,
    range: Range<f64>,
    ticks: Vec<f64>,
}

impl Layout {
    fn new(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let coordinate = |value: f64| match scale {
            Scale::Linear => value,
            Scale::Log2 => value.log2(),
            Scale::Log10 => value.log10(),
        };
        let (mut low, mut high) = values
            .map(coordinate)
            .filter(|value| value.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        if scale == Scale::Linear {
            low = low.min(0.0);
        }
        // A margin at both ends, and a minimum range in case all values are equal.
        let min_range = match scale {
            Scale::Linear => 1e-9,
            Scale::Log2 => 1.0,
            Scale::Log10 => 0.5,
        };
        let room = ((high - low) * 0.04).max((min_range - (high - low)) / 2.0);
        let range = if scale == Scale::Linear && low >= 0.0 {
            0.0..high + room
        } else {
            low - room..high + room
        };
        let ticks = ticks(scale, &range);
        Self {
            scale,
            range,
            ticks,
        }
    }

    fn coordinate(&self, value: f64) -> f64 {
        let at = match self.scale {
            Scale::Linear => value,
            Scale::Log2 => value.log2(),
            Scale::Log10 => value.log10(),
        };
        // An error bar may reach down to 0, whose logarithm is infinite.
        if at.is_finite() {
            at.clamp(self.range.start, self.range.end)
        } else {
            self.range.start
        }
    }

    fn label(&self, at: f64) -> String {
        match self.scale {
            Scale::Linear => plain(at),
            // Once labels get long, all from 2^10 on are powers.
            Scale::Log2 if at >= 10.0 && self.range.end > 12.0 => {
                format!("2^{at:.0}")
            }
            Scale::Log2 => plain(at.exp2()),
            Scale::Log10 => plain(10f64.powf(at)),
        }
    }
}

impl Ranged for Layout {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let share = (value - self.range.start) / (self.range.end - self.range.start);
        from + (share * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            Vec::new()
        } else {
            self.ticks.clone()
        }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

/// Formats the number of a tick. Ticks are round numbers, so a few digits suffice.
fn plain(value: f64) -> String {
    let size = value.abs();
    if size < 1e-12 {
        "0".to_owned()
    } else if !(1e-4..1e6).contains(&size) {
        format!("{value:e}")
    } else {
        // At most three digits, without trailing zeros.
        let decimals = (2 - size.log10().floor() as i32).max(0) as usize;
        let text = format!("{value:.decimals$}");
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text
        }
    }
}

fn ticks(scale: Scale, range: &Range<f64>) -> Vec<f64> {
    let span = range.end - range.start;
    let steps = |step: f64| -> Vec<f64> {
        let first = (range.start / step).ceil() as i64;
        let last = (range.end / step).floor() as i64;
        (first..=last).map(|tick| tick as f64 * step).collect()
    };
    match scale {
        Scale::Linear => {
            let rough = span / 7.0;
            let unit = 10f64.powf(rough.log10().floor());
            let step = [1.0, 2.0, 5.0, 10.0]
                .into_iter()
                .map(|factor| factor * unit)
                .find(|&step| step >= rough)
                .unwrap_or(unit);
            steps(step)
        }
        Scale::Log2 => steps((span / 12.0).ceil().max(1.0)),
        Scale::Log10 if span > 4.0 => steps((span / 10.0).ceil()),
        Scale::Log10 => {
            let digits: &[f64] = if span > 2.0 {
                &[1.0, 3.0]
            } else if span > 0.9 {
                &[1.0, 2.0, 5.0]
            } else {
                &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]
            };
            let decades = range.start.floor() as i32..=range.end.ceil() as i32;
            decades
                .flat_map(|decade| {
                    digits
                        .iter()
                        .map(move |digit| digit.log10() + f64::from(decade))
                })
                .filter(|tick| range.contains(tick))
                .collect()
        }
    }
}

fn text(size: u32, colour: RGBColor, horizontal: HPos) -> TextStyle<'static> {
    (FONT, size)
        .into_font()
        .color(&colour)
        .pos(Pos::new(horizontal, VPos::Center))
}

/// Draws the title. Lines after the first one are smaller.
fn heading(root: &Area<'_>, title: &str) -> Result<(), String> {
    for (i, line) in title.lines().enumerate() {
        let (size, colour) = if i == 0 { (21, BLACK) } else { (17, GREY) };
        let at = (24, 24 + 22 * i as i32);
        root.draw(&Text::new(
            line.to_owned(),
            at,
            text(size, colour, HPos::Left),
        ))
        .map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Draws a line, of any length.
fn stroke(
    root: &Area<'_>,
    points: Vec<(i32, i32)>,
    colour: RGBColor,
    width: u32,
    dashed: bool,
) -> Result<(), String> {
    let style = ShapeStyle::from(colour).stroke_width(width);
    let drawn = if dashed {
        root.draw(&DashedPathElement::new(points, 7, 5, style))
    } else {
        root.draw(&PathElement::new(points, style))
    };
    drawn.map_err(|error| error.to_string())
}

fn error_bar(root: &Area<'_>, [from, to]: [(i32, i32); 2], colour: RGBColor) -> Result<(), String> {
    // The caps are perpendicular to the bar.
    let (dx, dy) = if from.0 == to.0 { (4, 0) } else { (0, 4) };
    stroke(root, vec![from, to], colour, 1, false)?;
    for (x, y) in [from, to] {
        stroke(
            root,
            vec![(x - dx, y - dy), (x + dx, y + dy)],
            colour,
            1,
            false,
        )?;
    }
    Ok(())
}

fn marker(root: &Area<'_>, (x, y): (i32, i32), line: &Line) -> Result<(), String> {
    let style = line.colour().filled();
    let polygon = |points: &[(i32, i32)]| {
        let points: Vec<(i32, i32)> = points.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
        root.draw(&Polygon::new(points, style))
    };
    // After the last colour, colours repeat with other markers.
    let drawn = match (line.style + line.style / COLOURS.len()) % 7 {
        0 => root.draw(&Circle::new((x, y), 6, style)),
        1 => polygon(&[(-4, -4), (4, -4), (4, 4), (-4, 4)]),
        2 => polygon(&[(0, -6), (6, 5), (-6, 5)]),
        3 => polygon(&[(0, -6), (6, 0), (0, 6), (-6, 0)]),
        4 => polygon(&[(0, 6), (6, -5), (-6, -5)]),
        5 => root.draw(&Cross::new((x, y), 5, style.stroke_width(2))),
        _ => root.draw(&Circle::new((x, y), 5, line.colour().stroke_width(2))),
    };
    drawn.map_err(|error| error.to_string())
}

fn draw_lines(
    root: &Area<'_>,
    look: &Look,
    title: &str,
    [x, y]: [&Axis; 2],
    lines: &[Line],
) -> Result<(), String> {
    heading(root, title)?;
    let (left, _) = root
        .margin(look.top, 4, 0, 0)
        .split_horizontally(look.width - look.legend);
    let points = || lines.iter().flat_map(|line| &line.points);
    let xs = Layout::new(x.scale, points().map(|point| point.x));
    let ys = Layout::new(
        y.scale,
        points().flat_map(|point| [point.y, point.low, point.high]),
    );
    let mut chart = ChartBuilder::on(&left)
        .margin_right(12)
        .margin_left(8)
        .x_label_area_size(54)
        .y_label_area_size(look.numbers)
        .build_cartesian_2d(xs.clone(), ys.clone())
        .map_err(|error| error.to_string())?;
    chart
        .configure_mesh()
        .x_labels(xs.ticks.len())
        .y_labels(ys.ticks.len())
        .x_label_formatter(&|at| xs.label(*at))
        .y_label_formatter(&|at| ys.label(*at))
        .x_desc(x.label.as_str())
        .y_desc(y.label.as_str())
        .label_style((FONT, 16))
        .axis_desc_style((FONT, 18))
        .axis_style(GREY)
        .bold_line_style(RGBColor(225, 225, 225))
        .light_line_style(TRANSPARENT)
        .draw()
        .map_err(|error| error.to_string())?;
    let at = |x: f64, y: f64| chart.backend_coord(&(xs.coordinate(x), ys.coordinate(y)));
    for line in lines {
        let path: Vec<(i32, i32)> = line.points.iter().map(|p| at(p.x, p.y)).collect();
        stroke(root, path.clone(), line.colour(), line.width(), line.dashed)?;
        for (point, &pixel) in line.points.iter().zip(&path) {
            if point.low < point.high {
                let bar = [at(point.x, point.low), at(point.x, point.high)];
                error_bar(root, bar, line.colour())?;
            }
            if !line.plain {
                marker(root, pixel, line)?;
            }
        }
    }
    let begin = (look.width - look.legend + 8) as i32;
    let positions = if let Some(below) = look.legend_from {
        let room = look.height as i32 - 80;
        let step = (room / (lines.len() as i32).max(1)).min(24);
        (0..lines.len())
            .map(|i| look.top as i32 + below + i as i32 * step)
            .collect()
    } else {
        let end = |line: &Line| line.points.last().map_or(0, |p| at(p.x, p.y).1);
        space_out(
            &lines.iter().map(end).collect::<Vec<i32>>(),
            20,
            look.top as i32 + 8,
        )
    };
    for (line, &y) in lines.iter().zip(&positions) {
        stroke(
            root,
            vec![(begin, y), (begin + 34, y)],
            line.colour(),
            line.width(),
            line.dashed,
        )?;
        if !line.plain {
            marker(root, (begin + 17, y), line)?;
        }
        let mut style = text(fitting(&line.name), BLACK, HPos::Left);
        if look.legend_from.is_none() && line.style == 0 {
            style.font = style.font.style(FontStyle::Bold);
        }
        root.draw(&Text::new(line.name.clone(), (begin + 42, y), style))
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Positions for names near the wanted ones: none above `top`, and at least `step` apart. Names
/// that would overlap are spread around their mean position.
fn space_out(wanted: &[i32], step: i32, top: i32) -> Vec<i32> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|&i| wanted[i]);
    // Groups of names, `step` apart: the position of the first name, and the members.
    let mut groups: Vec<(i32, Vec<usize>)> = Vec::new();
    for i in order {
        let mut group = (wanted[i].max(top), vec![i]);
        while let Some((_, above)) =
            groups.pop_if(|(start, above)| *start + step * above.len() as i32 > group.0)
        {
            let members = [above, group.1].concat();
            let sum: i32 = members
                .iter()
                .zip(0..)
                .map(|(&i, k)| wanted[i] - step * k)
                .sum();
            group = ((sum / members.len() as i32).max(top), members);
        }
        groups.push(group);
    }
    let mut positions = vec![0; wanted.len()];
    for (start, members) in groups {
        for (i, k) in members.into_iter().zip(0..) {
            positions[i] = start + step * k;
        }
    }
    positions
}

/// The font size of a name in the legend, reduced for long names.
fn fitting(name: &str) -> u32 {
    const FITS: u32 = 28;
    let length = name.chars().count() as u32;
    16 * FITS / length.max(FITS)
}

/// Draws bars, each in one of the rows. The first row is on top.
fn draw_bars(
    root: &Area<'_>,
    look: &Look,
    title: &str,
    x: &Axis,
    bars: &[(usize, Bar<'_>)],
    rows: usize,
) -> Result<(), String> {
    heading(root, title)?;
    let layout = Layout::new(
        x.scale,
        bars.iter()
            .flat_map(|(_, bar)| [bar.point.y, bar.point.low, bar.point.high]),
    );
    let count = rows.max(1) as f64;
    let mut chart = ChartBuilder::on(&root.margin(look.top, 4, 0, 0))
        // Room for the last value, right of its bar.
        .margin_right(look.values)
        .x_label_area_size(54)
        .y_label_area_size(look.names)
        .build_cartesian_2d(layout.clone(), 0.0..count)
        .map_err(|error| error.to_string())?;
    chart
        .configure_mesh()
        .x_labels(layout.ticks.len())
        .x_label_formatter(&|at| layout.label(*at))
        .y_labels(0)
        .y_label_formatter(&|_| String::new())
        .x_desc(x.label.as_str())
        .label_style((FONT, 16))
        .axis_desc_style((FONT, 18))
        .axis_style(GREY)
        .bold_line_style(RGBColor(225, 225, 225))
        .light_line_style(TRANSPARENT)
        .draw()
        .map_err(|error| error.to_string())?;
    for (row, bar) in bars {
        let floor = count - *row as f64 - 1.0;
        let at = |value: f64, up: f64| chart.backend_coord(&(layout.coordinate(value), floor + up));
        let left = |up: f64| chart.backend_coord(&(layout.range.start, floor + up));
        let (point, [low, high]) = (bar.point, bar.span);
        let ((_, top), (end, bottom)) = (left(high), at(point.y, low));
        let middle = f64::midpoint(low, high);
        let (begin, centre) = left(middle);
        root.draw(&Rectangle::new(
            [(begin, top), (end, bottom)],
            bar.colour.filled(),
        ))
        .map_err(|error| error.to_string())?;
        if point.low < point.high {
            error_bar(root, [at(point.low, middle), at(point.high, middle)], BLACK)?;
        }
        let tip = at(point.high.max(point.y), middle).0;
        let name = bar
            .name
            .map(|(name, up)| (name, left(up), begin - 8, HPos::Right));
        let label = (bar.label.as_str(), (0, centre), tip + 8, HPos::Left);
        for (what, (_, y), x, anchor) in name.into_iter().chain([label]) {
            root.draw(&Text::new(what.to_owned(), (x, y), text(16, BLACK, anchor)))
                .map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        let layout = |scale, values: &[f64]| Layout::new(scale, values.iter().copied());
        let labels = |layout: &Layout| -> Vec<String> {
            layout
                .ticks
                .iter()
                .map(|tick| layout.label(*tick))
                .collect()
        };
        let powers = layout(Scale::Log2, &[65_536.0, 268_435_456.0]);
        let labels_of_powers = labels(&powers);
        assert!(
            labels_of_powers.contains(&"2^16".to_owned()),
            "{labels_of_powers:?}"
        );
        assert!(labels_of_powers.len() <= 14);
        assert_eq!(
            labels(&layout(Scale::Linear, &[0.0, 70.0]))[..3],
            ["0", "20", "40"]
        );
        assert_eq!(
            labels(&layout(Scale::Log10, &[0.1, 2.0])),
            ["0.1", "0.2", "0.5", "1", "2"]
        );
        for scale in [Scale::Linear, Scale::Log2, Scale::Log10] {
            for values in [&[][..], &[1.0], &[0.0, 0.0], &[3.0, 3.1], &[1e-9, 1e9]] {
                let layout = layout(scale, values);
                assert!(layout.range.start < layout.range.end);
                assert!(layout.ticks.len() <= 30, "{scale:?} {values:?}");
            }
        }
    }

    #[test]
    fn names_do_not_overlap() {
        assert_eq!(space_out(&[], 20, 0), [0; 0]);
        assert_eq!(space_out(&[90, 10, 50], 20, 0), [90, 10, 50]);
        assert_eq!(space_out(&[50, 50, 90], 20, 0), [40, 60, 90]);
        assert_eq!(space_out(&[12, 10, 30], 20, 8), [28, 8, 48]);
    }

    #[test]
    fn every_line_is_named_in_well_formed_svg() -> Result<(), Fault> {
        let points = vec![
            Point::exact(1.0, 1.0),
            Point {
                x: 2.0,
                y: 2.0,
                low: 0.0,
                high: 3.0,
            },
        ];
        let lines: Vec<Line> = (0..9)
            .map(|i| Line::new(format!("<{i}> & co"), i, points.clone()))
            .collect();
        let bars = lines.iter().map(|l| (l.name.clone(), points[1])).collect();
        let (x, y) = (Axis::new("x", Scale::Log2), Axis::new("y", Scale::Log10));
        let title = "a < b".to_owned();
        for chart in [
            Chart::Lines {
                title: title.clone(),
                x: x.clone(),
                y,
                lines,
            },
            Chart::Bars { title, x, bars },
        ] {
            let svg = chart.svg()?;
            let parsed = roxmltree::Document::parse(&svg).unwrap();
            let texts: Vec<&str> = parsed
                .descendants()
                .filter_map(|node| node.text().map(str::trim))
                .collect();
            assert!(
                chart.names().iter().all(|name| texts.contains(name)),
                "{texts:?}"
            );
        }
        Ok(())
    }
}
