//! The part of the Basic Encoding Rules that LDAP uses: tags of one byte, definite lengths.

/// `BOOLEAN`.
pub(super) const BOOLEAN: u8 = 0x01;
/// `INTEGER`.
pub(super) const INTEGER: u8 = 0x02;
/// `OCTET STRING`.
pub(super) const OCTETS: u8 = 0x04;
/// `ENUMERATED`.
pub(super) const ENUMERATED: u8 = 0x0a;
/// `SEQUENCE`.
pub(super) const SEQUENCE: u8 = 0x30;
/// `SET`.
pub(super) const SET: u8 = 0x31;

/// Encodes an element.
pub(super) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut encoded = vec![tag];
    match u8::try_from(content.len()) {
        Ok(short) if short < 0x80 => encoded.push(short),
        _ => {
            let length = content.len().to_be_bytes();
            let zeros = length.iter().take_while(|byte| **byte == 0).count();
            let digits = length.get(zeros..).unwrap_or_default();
            encoded.push(0x80 | u8::try_from(digits.len()).unwrap_or(0));
            encoded.extend(digits);
        }
    }
    encoded.extend(content);
    encoded
}

/// Encodes an element with these inside.
pub(super) fn constructed<T: AsRef<[u8]>>(tag: u8, elements: impl IntoIterator<Item = T>) -> Vec<u8> {
    let content: Vec<u8> = elements.into_iter().flat_map(|inner| inner.as_ref().to_vec()).collect();
    element(tag, &content)
}

/// The beginning of a text of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start<'a> {
    /// It begins with an element; the rest follows.
    Element(u8, &'a [u8], &'a [u8]),
    /// The element has so many bytes, and not all of them are here. Zero where even its length is not.
    Cut(usize),
    /// It begins with no element that LDAP could have.
    Wrong,
}

/// Reads the first element.
pub(super) fn start(bytes: &[u8]) -> Start<'_> {
    let [tag, length, rest @ ..] = bytes else { return Start::Cut(0) };
    let (length, rest) = if *length < 0x80 {
        (usize::from(*length), rest)
    } else {
        let digits = usize::from(*length & 0x7f);
        if digits == 0 || digits > size_of::<u32>() {
            return Start::Wrong;
        }
        let Some((digits, rest)) = rest.split_at_checked(digits) else { return Start::Cut(0) };
        let length = digits.iter().fold(0_u32, |length, digit| (length << 8) | u32::from(*digit));
        let Ok(length) = usize::try_from(length) else { return Start::Wrong };
        (length, rest)
    };
    match rest.split_at_checked(length) {
        Some((content, rest)) => Start::Element(*tag, content, rest),
        None => Start::Cut(bytes.len().saturating_sub(rest.len()).saturating_add(length)),
    }
}

/// Reads elements one after another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Elements<'a>(pub(super) &'a [u8]);

impl<'a> Elements<'a> {
    /// Takes the content of the next element, which has this tag.
    pub(super) fn take(&mut self, tag: u8) -> Option<&'a [u8]> {
        let (found, content) = self.any()?;
        (found == tag).then_some(content)
    }

    /// Takes the next element: its tag and content.
    pub(super) fn any(&mut self) -> Option<(u8, &'a [u8])> {
        let Start::Element(tag, content, rest) = start(self.0) else { return None };
        self.0 = rest;
        Some((tag, content))
    }

    /// Returns whether there is no element left.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The value of a number that is not negative.
pub(super) fn number(content: &[u8]) -> Option<u32> {
    let first = content.first()?;
    let digits = content.iter().skip_while(|digit| **digit == 0);
    (*first < 0x80 && digits.clone().count() <= size_of::<u32>())
        .then(|| digits.fold(0, |number, digit| (number << 8) | u32::from(*digit)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lengths_are_short_where_they_can_be() {
        assert_eq!(element(OCTETS, b"ab"), b"\x04\x02ab");
        assert_eq!(element(OCTETS, &[7; 127])[..2], [4, 127]);
        assert_eq!(element(OCTETS, &[7; 128])[..3], [4, 0x81, 128]);
        assert_eq!(element(OCTETS, &[7; 256])[..4], [4, 0x82, 1, 0]);
        assert_eq!(
            constructed(SEQUENCE, [element(INTEGER, &[3]), element(BOOLEAN, &[0])]),
            [0x30, 6, 2, 1, 3, 1, 1, 0]
        );
    }

    #[test]
    fn beginning_without_an_end_is_cut_and_no_length_is_wrong() {
        for (bytes, expected) in [
            (&b""[..], Start::Cut(0)),
            (b"\x04", Start::Cut(0)),
            (b"\x04\x82\x01", Start::Cut(0)),
            (b"\x04\x02a", Start::Cut(4)),
            (b"\x04\x84\xff\xff\xff\xff", Start::Cut(6 + 0xffff_ffff)),
            (b"\x04\x80ab\0\0", Start::Wrong),
            (b"\x04\x85\0\0\0\0\x01a", Start::Wrong),
            (b"\x04\x01ab", Start::Element(OCTETS, b"a", b"b")),
            (b"\x04\x84\0\0\0\x01ab", Start::Element(OCTETS, b"a", b"b")),
        ] {
            assert_eq!(start(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn numbers_are_read_where_they_fit() {
        for (content, expected) in [
            (&b""[..], None),
            (b"\0", Some(0)),
            (b"\x31", Some(49)),
            (b"\x01\0", Some(256)),
            (b"\0\xff\xff\xff\xff", Some(u32::MAX)),
            (b"\xff", None),
            (b"\x01\0\0\0\0", None),
        ] {
            assert_eq!(number(content), expected, "{content:?}");
        }
    }

    proptest! {
        #[test]
        fn elements_are_read_as_they_were_written(tag: u8, content: Vec<u8>, rest: Vec<u8>, grow in 0_usize..3) {
            let content = content.repeat([1, 10, 1000][grow]);
            let bytes = [element(tag, &content), rest.clone()].concat();
            prop_assert_eq!(start(&bytes), Start::Element(tag, &content, &rest));
        }
    }
}
