//! Charts as SVG.

use bcfsort_term::fault::Fault;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::ops::Range;

const WIDTH: u32 = 960;
const HEIGHT: u32 = 560;
/// The column of the legend.
const LEGEND: u32 = 250;
const FONT: &str = "sans-serif";
const GREY: RGBColor = RGBColor(90, 90, 90);

/// Okabe and Ito's colours, which differ for every kind of colour vision; the shapes of the markers
/// differ too. Their yellow is too pale for lines.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(0, 0, 0),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

/// The style of a line that belongs to none of the contenders.
pub(crate) const NEUTRAL: usize = usize::MAX;

/// How numbers lie on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    Linear,
    /// Ticks at powers of two.
    Log2,
    /// Ticks at 1, 2 and 5 times powers of ten.
    Log10,
}

/// An axis: its label, with the unit, and its scale.
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
    /// The colour and the shape of the markers.
    pub(crate) style: usize,
    /// Dashed: of something that is not measured, or the second of two lines of one style.
    pub(crate) dashed: bool,
    /// Without markers: a model.
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

    /// What theory says.
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

    /// The first is drawn below the others: broader, so that it is seen where they lie on it.
    const fn width(&self) -> u32 {
        if self.style == 0 && !self.plain { 4 } else { 2 }
    }
}

/// A chart.
#[derive(Clone, Debug)]
pub(crate) enum Chart {
    /// Lines over x and y.
    Lines {
        title: String,
        x: Axis,
        y: Axis,
        lines: Vec<Line>,
    },
    /// A horizontal bar for each name, with the value beside it. The points' x is of no account.
    Bars {
        title: String,
        x: Axis,
        bars: Vec<(String, Point)>,
    },
}

impl Chart {
    /// The names of its lines or bars.
    pub(crate) fn names(&self) -> Vec<&str> {
        match self {
            Self::Lines { lines, .. } => lines.iter().map(|line| line.name.as_str()).collect(),
            Self::Bars { bars, .. } => bars.iter().map(|(name, _)| name.as_str()).collect(),
        }
    }

    /// The chart as an SVG document.
    pub(crate) fn svg(&self) -> Result<String, Fault> {
        let mut svg = String::new();
        {
            let root = SVGBackend::with_string(&mut svg, (WIDTH, HEIGHT)).into_drawing_area();
            self.draw(&root)
                .and_then(|()| root.present().map_err(|error| error.to_string()))
                .map_err(|error| Fault::Usage(format!("cannot draw a chart: {error}")))?;
        }
        Ok(svg)
    }

    fn draw(&self, root: &Area<'_>) -> Result<(), String> {
        root.fill(&WHITE).map_err(|error| error.to_string())?;
        match self {
            Self::Lines { title, x, y, lines } => draw_lines(root, title, [x, y], lines),
            Self::Bars { title, x, bars } => draw_bars(root, title, x, bars),
        }
    }
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// An axis laid out: where a number lies, and the ticks.
#[derive(Clone)]
struct Layout {
    scale: Scale,
    range: Range<f64>,
    ticks: Vec<f64>,
}

impl Layout {
    fn new(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let place = |value: f64| match scale {
            Scale::Linear => value,
            Scale::Log2 => value.log2(),
            Scale::Log10 => value.log10(),
        };
        let (mut low, mut high) = values
            .map(place)
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
        // Some room at both ends, and something to see where all values are the same.
        let least = match scale {
            Scale::Linear => 1e-9,
            Scale::Log2 => 1.0,
            Scale::Log10 => 0.5,
        };
        let room = ((high - low) * 0.04).max((least - (high - low)) / 2.0);
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

    fn place(&self, value: f64) -> f64 {
        let place = match self.scale {
            Scale::Linear => value,
            Scale::Log2 => value.log2(),
            Scale::Log10 => value.log10(),
        };
        // An error bar may reach down to 0, which no logarithm has.
        if place.is_finite() {
            place.clamp(self.range.start, self.range.end)
        } else {
            self.range.start
        }
    }

    fn label(&self, place: f64) -> String {
        match self.scale {
            Scale::Linear => plain(place),
            // Where they get long, all from 2^10 on.
            Scale::Log2 if place >= 10.0 && self.range.end > 12.0 => format!("2^{place:.0}"),
            Scale::Log2 => plain(place.exp2()),
            Scale::Log10 => plain(10f64.powf(place)),
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

/// A number of a tick: round, so few digits tell it.
fn plain(value: f64) -> String {
    let size = value.abs();
    if size < 1e-12 {
        "0".to_owned()
    } else if !(1e-4..1e6).contains(&size) {
        format!("{value:e}")
    } else {
        // Three digits at most, and none that say nothing.
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

fn heading(root: &Area<'_>, title: &str) -> Result<(), String> {
    root.draw(&Text::new(
        title.to_owned(),
        (24, 24),
        text(21, BLACK, HPos::Left),
    ))
    .map_err(|error| error.to_string())
}

/// A line without an upper limit to its length.
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
    // The caps stand across the bar.
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
    // Beyond the last colour, the first comes with another marker.
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
    title: &str,
    [x, y]: [&Axis; 2],
    lines: &[Line],
) -> Result<(), String> {
    heading(root, title)?;
    let (left, right) = root.margin(44, 4, 0, 0).split_horizontally(WIDTH - LEGEND);
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
        .y_label_area_size(74)
        .build_cartesian_2d(xs.clone(), ys.clone())
        .map_err(|error| error.to_string())?;
    chart
        .configure_mesh()
        .x_labels(xs.ticks.len())
        .y_labels(ys.ticks.len())
        .x_label_formatter(&|place| xs.label(*place))
        .y_label_formatter(&|place| ys.label(*place))
        .x_desc(x.label.as_str())
        .y_desc(y.label.as_str())
        .label_style((FONT, 16))
        .axis_desc_style((FONT, 18))
        .axis_style(GREY)
        .bold_line_style(RGBColor(225, 225, 225))
        .light_line_style(TRANSPARENT)
        .draw()
        .map_err(|error| error.to_string())?;
    let at = |x: f64, y: f64| chart.backend_coord(&(xs.place(x), ys.place(y)));
    for line in lines {
        let path: Vec<(i32, i32)> = line.points.iter().map(|p| at(p.x, p.y)).collect();
        stroke(root, path.clone(), line.colour(), line.width(), line.dashed)?;
        for (point, &place) in line.points.iter().zip(&path) {
            if point.low < point.high {
                let bar = [at(point.x, point.low), at(point.x, point.high)];
                error_bar(root, bar, line.colour())?;
            }
            if !line.plain {
                marker(root, place, line)?;
            }
        }
    }
    drop(right);
    let (begin, room) = ((WIDTH - LEGEND + 8) as i32, HEIGHT as i32 - 80);
    let step = (room / (lines.len() as i32).max(1)).min(24);
    for (i, line) in lines.iter().enumerate() {
        let y = 64 + i as i32 * step;
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
        root.draw(&Text::new(
            line.name.clone(),
            (begin + 42, y),
            text(fitting(&line.name), BLACK, HPos::Left),
        ))
        .map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The size of a name in the legend: smaller where it would not fit.
fn fitting(name: &str) -> u32 {
    const FITS: u32 = 28;
    let length = name.chars().count() as u32;
    16 * FITS / length.max(FITS)
}

fn draw_bars(
    root: &Area<'_>,
    title: &str,
    x: &Axis,
    bars: &[(String, Point)],
) -> Result<(), String> {
    const NAMES: u32 = 190;
    heading(root, title)?;
    let layout = Layout::new(
        x.scale,
        bars.iter()
            .flat_map(|(_, point)| [point.y, point.low, point.high]),
    );
    let count = bars.len().max(1) as f64;
    let mut chart = ChartBuilder::on(&root.margin(44, 4, 0, 0))
        // The last value stands right of its bar.
        .margin_right(90)
        .x_label_area_size(54)
        .y_label_area_size(NAMES)
        .build_cartesian_2d(layout.clone(), 0.0..count)
        .map_err(|error| error.to_string())?;
    chart
        .configure_mesh()
        .x_labels(layout.ticks.len())
        .x_label_formatter(&|place| layout.label(*place))
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
    for (i, (name, point)) in bars.iter().enumerate() {
        // The first on top.
        let middle = count - i as f64 - 0.5;
        let at = |value: f64, up: f64| chart.backend_coord(&(layout.place(value), middle + up));
        let ((_, top), (end, bottom)) = (
            chart.backend_coord(&(layout.range.start, middle + 0.3)),
            at(point.y, -0.3),
        );
        let (begin, centre) = chart.backend_coord(&(layout.range.start, middle));
        let colour = COLOURS[i % COLOURS.len()];
        root.draw(&Rectangle::new(
            [(begin, top), (end, bottom)],
            colour.mix(0.8).filled(),
        ))
        .map_err(|error| error.to_string())?;
        if point.low < point.high {
            error_bar(root, [at(point.low, 0.0), at(point.high, 0.0)], BLACK)?;
        }
        let tip = at(point.high.max(point.y), 0.0).0;
        let value = super::stats::digits(point.y);
        for (what, place, anchor) in [
            (name.as_str(), begin - 8, HPos::Right),
            (value.as_str(), tip + 8, HPos::Left),
        ] {
            root.draw(&Text::new(
                what.to_owned(),
                (place, centre),
                text(16, BLACK, anchor),
            ))
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
