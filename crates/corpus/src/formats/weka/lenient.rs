//! How values may be spelled: numbers in every way that aiperf 0.12.0 takes (`aiperf-corpus` §1.2), objects only as
//! objects.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, Unexpected, Visitor};

/// An integer: also an integral float, a numeric string, or a bool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Int(pub(super) i64);

/// A float: also an integer or a numeric string.
#[derive(Clone, Copy, Debug)]
pub(super) struct Float(pub(super) f64);

/// Any object; its content is not looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnyObject;

/// A struct written as an object. Without this serde takes a list of its values too.
#[derive(Debug)]
pub(super) struct Object<T>(pub(super) T);

/// What an [`Object`] is called in messages.
pub(super) trait Named {
    const NAME: &'static str;
}

struct IntVisitor;

impl Visitor<'_> for IntVisitor {
    type Value = Int;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer of at most 64 bits")
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Int, E> {
        i64::try_from(value)
            .map(Int)
            .map_err(|_| E::invalid_value(Unexpected::Unsigned(value), &self))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Int, E> {
        Ok(Int(value))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Int, E> {
        integral(value)
            .map(Int)
            .ok_or_else(|| E::invalid_value(Unexpected::Float(value), &self))
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Int, E> {
        Ok(Int(i64::from(value)))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Int, E> {
        let text = value.trim();
        let parsed = text.parse::<i64>().ok();
        parsed
            .or_else(|| integral(text.parse().ok()?))
            .map(Int)
            .ok_or_else(|| E::invalid_value(Unexpected::Str(value), &self))
    }
}

/// `value` as an integer, if it is one that fits.
fn integral(value: f64) -> Option<i64> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0; // 2^63
    (value.fract() == 0.0 && (-LIMIT..LIMIT).contains(&value)).then_some(value as i64)
}

impl<'de> Deserialize<'de> for Int {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IntVisitor)
    }
}

struct FloatVisitor;

impl Visitor<'_> for FloatVisitor {
    type Value = Float;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Float, E> {
        Ok(Float(value as f64))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Float, E> {
        Ok(Float(value as f64))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Float, E> {
        Ok(Float(value))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Float, E> {
        value
            .trim()
            .parse()
            .map(Float)
            .map_err(|_| E::invalid_value(Unexpected::Str(value), &self))
    }
}

impl<'de> Deserialize<'de> for Float {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FloatVisitor)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = AnyObject;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or null")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AnyObject, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(AnyObject)
    }
}

impl<'de> Deserialize<'de> for AnyObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ObjectVisitor)
    }
}

struct StructVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + Named> Visitor<'de> for StructVisitor<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::NAME)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Object)
    }
}

impl<'de, T: Deserialize<'de> + Named> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StructVisitor(PhantomData))
    }
}
