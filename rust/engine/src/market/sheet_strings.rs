//! Texts that the cells of a workbook share.

use crate::market::sheet_xml::{SheetFault, Token, XmlParts, unescape, verbatim};

/// Text of an element with formatted parts, without its phonetic guides.
#[derive(Debug, Default)]
pub(crate) struct RichText {
    text: String,
    is_open: bool,
    is_phonetic: bool,
}

impl RichText {
    pub(crate) fn clear(&mut self) {
        self.text.clear();
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Reads the next token within the element.
    pub(crate) fn take(&mut self, token: &Token<'_>) -> Result<(), SheetFault> {
        match token {
            Token::Start(b"t", _) => self.is_open = !self.is_phonetic,
            Token::End(b"t") => self.is_open = false,
            Token::Start(b"rPh", _) => self.is_phonetic = true,
            Token::End(b"rPh") => self.is_phonetic = false,
            Token::Text(text) if self.is_open => unescape(text, &mut self.text)?,
            Token::Verbatim(text) if self.is_open => self.text.push_str(verbatim(text)?),
            _ => {}
        }
        Ok(())
    }
}

/// Reader of the shared texts of a workbook, which arrive in parts.
#[derive(Debug, Default)]
pub struct SheetStrings {
    xml: XmlParts,
    item: RichText,
    text: String,
    ends: Vec<usize>,
}

impl SheetStrings {
    /// Reads the next part of the XML.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with the XML.
    pub fn push(&mut self, part: &[u8]) -> Result<(), SheetFault> {
        let Self { xml, item, text, ends } = self;
        xml.push(part, |token| {
            match token {
                Token::Start(b"si", _) => item.clear(),
                Token::End(b"si") => {
                    text.push_str(item.text().trim());
                    ends.push(text.len());
                }
                _ => item.take(&token)?,
            }
            Ok(())
        })
    }

    /// Returns an error unless the XML is complete.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with the XML.
    pub fn finish(&self) -> Result<(), SheetFault> {
        self.xml.finish()
    }

    /// Returns the texts, without blanks around them.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.text[start..*end])
    }

    pub(crate) fn is_blank(&self, place: usize) -> Option<bool> {
        let start = if place == 0 { 0 } else { *self.ends.get(place - 1)? };
        Some(*self.ends.get(place)? == start)
    }
}

#[cfg(test)]
mod tests {
    use super::SheetStrings;

    #[test]
    fn texts_of_several_formats_are_joined_without_phonetic_guides() {
        let mut strings = SheetStrings::default();
        let items = "<si><t> a&amp;b </t></si><si><r><rPr/><t>c</t></r><r><t>d</t></r><rPh><t>e</t></rPh></si><si/>";
        strings.push(format!("<sst>{items}</sst>").as_bytes()).unwrap();
        strings.finish().unwrap();
        assert_eq!(strings.texts().collect::<Vec<_>>(), ["a&b", "cd", ""]);
        assert_eq!([0, 2, 3].map(|place| strings.is_blank(place)), [Some(false), Some(true), None]);
    }
}
