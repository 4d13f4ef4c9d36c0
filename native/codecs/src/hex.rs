// SPDX-License-Identifier: Apache-2.0
//! Bytes in JSON, for the probe: lower-case hex, because serde knows no arrays above 32 and lists of numbers are long.

use serde::{Deserialize, Deserializer, Serializer, de::Error};

pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    serializer.serialize_str(&text)
}

pub(crate) fn deserialize<'de, D, B>(deserializer: D) -> Result<B, D::Error>
where
    D: Deserializer<'de>,
    B: TryFrom<Vec<u8>>,
{
    let text = String::deserialize(deserializer)?;
    let bytes = parse(&text).ok_or_else(|| D::Error::custom("not hex"))?;
    B::try_from(bytes).map_err(|_| D::Error::custom("wrong number of bytes"))
}

fn parse(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}
