//! The files of `shaders/`, which the library includes.

/// A file of `shaders/`, or one of its sections. A section begins with the line `// ---- NAME`, and
/// ends before the next one. What is in front of all sections describes them, and is in no kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// The path in `shaders/`.
    pub path: &'static str,
    text: &'static str,
    section: Option<&'static str>,
}

impl Source {
    pub(crate) const fn new(
        path: &'static str,
        text: &'static str,
        section: Option<&'static str>,
    ) -> Self {
        Self {
            path,
            text,
            section,
        }
    }

    /// The text of the file or of the section. Empty if there is no such section: a bug, which the
    /// test that compiles every kernel would find.
    #[must_use]
    pub fn text(&self) -> &'static str {
        let Some(name) = self.section else {
            return self.text;
        };
        let mut sections = self.text.split("// ---- ").skip(1);
        let found = sections.find_map(|section| section.strip_prefix(name)?.strip_prefix("\n\n"));
        found.unwrap_or_default().trim_end()
    }
}

#[cfg(test)]
mod tests {
    use super::Source;

    #[test]
    fn a_section_ends_before_the_next_one() {
        let text = "// About.\n\n// ---- a\n\n// A.\nfn a() {}\n\n// ---- ab\n\nfn ab() {}\n";
        let of = |section| Source::new("", text, section).text();
        assert_eq!(of(None), text);
        assert_eq!(of(Some("a")), "// A.\nfn a() {}");
        assert_eq!(of(Some("ab")), "fn ab() {}");
        assert_eq!(of(Some("b")), "");
    }
}
