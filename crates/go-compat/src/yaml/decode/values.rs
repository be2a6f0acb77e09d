//! How each Go type decodes: the branches of `decode.go` `scalar`, `sequence` and `mapping` by the kind of what is filled.

use std::borrow::Cow;

use super::super::edit::Step;
use super::super::resolve::{self, Value};
use super::super::{KindIn, NodeIn};
use super::keys::{is_merge, merged_before};
use super::{Decode, Decoder, Failure, List, Map, Record, Spanned};

/// Whether Go would return before it touched anything: the node is null.
fn is_null(node: &NodeIn<'_>) -> bool {
    resolve::tag_of(node) == resolve::NULL
}

impl Decode for String {
    fn go_type(&self) -> String {
        "string".to_owned()
    }

    fn decode(&mut self, node: &NodeIn<'_>, decoder: &mut Decoder) -> Result<bool, Failure> {
        match decoder.scalar(node, "string")? {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Text(text)) => {
                match text {
                    Cow::Borrowed(text) => text.clone_into(self),
                    Cow::Owned(text) => *self = text,
                }
                Ok(true)
            }
            Some(_) => {
                node.as_scalar().unwrap_or_default().clone_into(self);
                Ok(true)
            }
        }
    }
}

impl Decode for Spanned {
    fn go_type(&self) -> String {
        self.value.go_type()
    }

    fn decode(&mut self, node: &NodeIn<'_>, decoder: &mut Decoder) -> Result<bool, Failure> {
        let good = self.value.decode(node, decoder)?;
        self.span = Some(node.span);
        self.shared = decoder.shared > 0;
        self.style = match &node.kind {
            KindIn::Scalar { style, .. } => Some(*style),
            _ => None,
        };
        Ok(good)
    }
}

impl Decode for bool {
    fn go_type(&self) -> String {
        "bool".to_owned()
    }

    fn decode(&mut self, node: &NodeIn<'_>, decoder: &mut Decoder) -> Result<bool, Failure> {
        *self = match decoder.scalar(node, "bool")? {
            None | Some(Value::Null) => return Ok(false),
            Some(Value::Bool(value)) => value,
            Some(Value::Text(text)) => match &*text {
                "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => true,
                "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => false,
                _ => {
                    decoder.mismatch(node, "bool");
                    return Ok(false);
                }
            },
            Some(_) => {
                decoder.mismatch(node, "bool");
                return Ok(false);
            }
        };
        Ok(true)
    }
}

impl Decode for u64 {
    fn go_type(&self) -> String {
        "uint64".to_owned()
    }

    fn decode(&mut self, node: &NodeIn<'_>, decoder: &mut Decoder) -> Result<bool, Failure> {
        let number = match decoder.scalar(node, "uint64")? {
            None | Some(Value::Null) => return Ok(false),
            Some(Value::Int(number)) => u64::try_from(number).ok(),
            Some(Value::Uint(number)) => Some(number),
            Some(Value::Float(number)) => float_to_uint(number),
            Some(_) => None,
        };
        match number {
            Some(number) => *self = number,
            None => decoder.mismatch(node, "uint64"),
        }
        Ok(number.is_some())
    }
}

/// Go's `uint64(float)` on amd64, for what is not larger than the largest one as a float: fractions are cut, and what does not fit
/// becomes 2^63 (negative ones the two's complement).
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the ranges are checked")]
fn float_to_uint(number: f64) -> Option<u64> {
    const TWO_63: f64 = 9_223_372_036_854_775_808.0;
    const TWO_64: f64 = 18_446_744_073_709_551_616.0;
    if number.is_nan() || number > TWO_64 {
        None
    } else if number >= TWO_64 || number <= -TWO_63 {
        Some(1 << 63)
    } else if number < 0.0 {
        Some((number as i64).cast_unsigned())
    } else {
        Some(number as u64)
    }
}

impl Decode for f64 {
    fn go_type(&self) -> String {
        "float64".to_owned()
    }

    #[expect(clippy::cast_precision_loss, reason = "Go converts in the same way")]
    fn decode(&mut self, node: &NodeIn<'_>, decoder: &mut Decoder) -> Result<bool, Failure> {
        *self = match decoder.scalar(node, "float64")? {
            None | Some(Value::Null) => return Ok(false),
            Some(Value::Int(number)) => number as f64,
            Some(Value::Uint(number)) => number as f64,
            Some(Value::Float(number)) => number,
            Some(_) => {
                decoder.mismatch(node, "float64");
                return Ok(false);
            }
        };
        Ok(true)
    }
}

/// A pointer: null is nil, anything else is decoded into what it points to.
fn pointer<P: Default>(
    out: &mut Option<P>,
    node: &NodeIn<'_>,
    decoder: &mut Decoder,
    pointee: impl FnOnce(&mut P) -> &mut dyn Decode,
) -> Result<bool, Failure> {
    if !is_null(node) {
        return pointee(out.get_or_insert_default()).decode(node, decoder);
    }
    let go_type = format!("*{}", pointee(&mut P::default()).go_type());
    let null = decoder.scalar(node, &go_type)?.is_some();
    if null {
        *out = None;
    }
    Ok(null)
}

impl Decode for Option<bool> {
    fn go_type(&self) -> String {
        "*bool".to_owned()
    }

    fn decode(&mut self, node: &NodeIn<'_>, decoder: &mut Decoder) -> Result<bool, Failure> {
        pointer(self, node, decoder, |value| value)
    }
}

impl<T: Record> Decode for Option<Box<T>> {
    fn go_type(&self) -> String {
        format!("*{}", T::GO_TYPE)
    }

    fn decode(&mut self, node: &NodeIn<'_>, decoder: &mut Decoder) -> Result<bool, Failure> {
        pointer(self, node, decoder, |value| value.as_mut())
    }
}

impl<T: Decode + Default> Decode for List<T> {
    fn go_type(&self) -> String {
        format!("[]{}", T::default().go_type())
    }

    fn decode(&mut self, node: &NodeIn<'_>, decoder: &mut Decoder) -> Result<bool, Failure> {
        let Some(nodes) = node.as_sequence() else {
            return composite(self, node, decoder);
        };
        let mut list = Vec::with_capacity(nodes.len());
        for (index, item) in nodes.iter().enumerate() {
            let mut value = T::default();
            if decoder.child(|| Step::Index(index), item, &mut value)? {
                list.push(value);
            }
        }
        *self = Some(list);
        Ok(true)
    }
}

impl<T: Decode + Default> Decode for Map<T> {
    fn go_type(&self) -> String {
        format!("map[string]{}", T::default().go_type())
    }

    fn decode(&mut self, node: &NodeIn<'_>, decoder: &mut Decoder) -> Result<bool, Failure> {
        let Some(pairs) = node.as_mapping() else {
            return composite(self, node, decoder);
        };
        if !decoder.unique_keys(pairs) {
            return Ok(false);
        }
        let mut merged = decoder.merged.take();
        let mut merge = None;
        let is_new = self.is_none();
        let map = self.get_or_insert_default();
        for (key, value) in pairs {
            if is_merge(key) {
                merge = Some(value);
                continue;
            }
            let mut name = String::new();
            if !decoder.unmarshal(key, &mut name)? || merged_before(&mut merged, &name) {
                continue;
            }
            let mut item = T::default();
            let good = decoder.child(|| Step::Key(name.clone()), value, &mut item)?;
            if good || (is_null(value) && (is_new || !map.contains_key(&name))) {
                map.insert(name, item);
            }
        }
        decoder.merged = merged;
        merge.map_or(Ok(()), |from| decoder.merge(pairs, from, self))?;
        Ok(true)
    }
}

/// What is neither list nor map where one belongs: null is nil, all else does not fit.
fn composite<T>(out: &mut Option<T>, node: &NodeIn<'_>, decoder: &mut Decoder) -> Result<bool, Failure>
where
    Option<T>: Decode,
{
    let go_type = out.go_type();
    match decoder.scalar(node, &go_type)? {
        Some(Value::Null) => {
            *out = None;
            Ok(true)
        }
        Some(_) => {
            decoder.mismatch(node, &go_type);
            Ok(false)
        }
        None => Ok(false),
    }
}

impl<T: Record> Decode for T {
    fn go_type(&self) -> String {
        T::GO_TYPE.to_owned()
    }

    fn decode(&mut self, node: &NodeIn<'_>, decoder: &mut Decoder) -> Result<bool, Failure> {
        if let Some(pairs) = node.as_mapping() {
            if !decoder.unique_keys(pairs) {
                return Ok(false);
            }
            decoder.record(node, pairs, self)?;
            return Ok(true);
        }
        match decoder.scalar(node, T::GO_TYPE)? {
            Some(Value::Null) | None => {}
            Some(_) => decoder.mismatch(node, T::GO_TYPE),
        }
        Ok(false)
    }
}
