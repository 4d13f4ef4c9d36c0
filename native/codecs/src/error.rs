// SPDX-License-Identifier: Apache-2.0
//! Why bytes are not a message, or a message cannot be written. The numbers are those of the Python error tree.

use std::error::Error;
use std::fmt;

/// The numbers under which users know these errors.
pub mod codes {
    /// The message belongs to another schema.
    pub const WRONG_SCHEMA: u16 = 101;
    /// The schema is known, its template is not.
    pub const UNKNOWN_TEMPLATE: u16 = 102;
    /// The version is not one that may be read.
    pub const UNSUPPORTED_VERSION: u16 = 103;
    /// A fixed block or group entry has not the length of its version.
    pub const WRONG_BLOCK_LENGTH: u16 = 104;
    /// The buffer ends before the message does.
    pub const TRUNCATED: u16 = 105;
    /// A length field is above the schema's maximum.
    pub const LENGTH_LIMIT: u16 = 106;
    /// An unknown enum value, text that is not ASCII, a null sentinel given as a value.
    pub const INVALID_VALUE: u16 = 107;
    /// The message does not fit the buffer.
    pub const BUFFER_TOO_SMALL: u16 = 108;
}

/// Why bytes are not the message that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// Another schema; `wanted` is None where any known one would do.
    WrongSchema { wanted: Option<u16>, found: u16 },
    /// Another template; `wanted` is None where any known one would do.
    UnknownTemplate { schema: u16, wanted: Option<u16>, found: u16 },
    /// A newer version in a schema that does not allow it.
    UnsupportedVersion { schema: u16, supported: u16, found: u16 },
    /// A fixed block or group entry of the wrong length.
    WrongBlockLength { what: &'static str, wanted_bytes: u16, found_bytes: u16 },
    /// The buffer ends inside this part.
    Truncated { what: &'static str, wanted_bytes: usize, have_bytes: usize },
    /// Variable data that claims to be longer than the schema allows.
    LengthLimit { what: &'static str, limit_bytes: u32, found_bytes: u32 },
    /// An enum value that is not defined, or a byte that is not ASCII.
    InvalidValue { message: &'static str, field: &'static str, found: i64 },
}

impl DecodeError {
    /// The number of the error.
    pub const fn code(&self) -> u16 {
        match self {
            Self::WrongSchema { .. } => codes::WRONG_SCHEMA,
            Self::UnknownTemplate { .. } => codes::UNKNOWN_TEMPLATE,
            Self::UnsupportedVersion { .. } => codes::UNSUPPORTED_VERSION,
            Self::WrongBlockLength { .. } => codes::WRONG_BLOCK_LENGTH,
            Self::Truncated { .. } => codes::TRUNCATED,
            Self::LengthLimit { .. } => codes::LENGTH_LIMIT,
            Self::InvalidValue { .. } => codes::INVALID_VALUE,
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[FG-{}] {self:?}", self.code())
    }
}

impl Error for DecodeError {}

/// Why a message cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// Text that is not ASCII, a null sentinel given as a value, a group or data too long.
    InvalidValue { message: &'static str, field: &'static str },
    /// The buffer is shorter than `encoded_length()`.
    BufferTooSmall { wanted_bytes: usize, have_bytes: usize },
}

impl EncodeError {
    /// The number of the error.
    pub const fn code(&self) -> u16 {
        match self {
            Self::InvalidValue { .. } => codes::INVALID_VALUE,
            Self::BufferTooSmall { .. } => codes::BUFFER_TOO_SMALL,
        }
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[FG-{}] {self:?}", self.code())
    }
}

impl Error for EncodeError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_python_tree() {
        let truncated = DecodeError::Truncated { what: "", wanted_bytes: 8, have_bytes: 0 };
        assert_eq!(truncated.code(), 105);
        assert!(truncated.to_string().starts_with("[FG-105]"));
        let small = EncodeError::BufferTooSmall { wanted_bytes: 8, have_bytes: 0 };
        assert_eq!(small.code(), 108);
    }
}
