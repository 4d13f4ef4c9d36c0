#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Mode {
    STREAM = 0x1_u8, 
    RATE_LIMITED = 0x2_u8, 
    #[default]
    NullVal = 0xff_u8, 
}
impl From<u8> for Mode {
    #[inline]
    fn from(v: u8) -> Self {
        match v {
            0x1_u8 => Self::STREAM, 
            0x2_u8 => Self::RATE_LIMITED, 
            _ => Self::NullVal,
        }
    }
}
impl From<Mode> for u8 {
    #[inline]
    fn from(v: Mode) -> Self {
        match v {
            Mode::STREAM => 0x1_u8, 
            Mode::RATE_LIMITED => 0x2_u8, 
            Mode::NullVal => 0xff_u8,
        }
    }
}
impl core::str::FromStr for Mode {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "STREAM" => Ok(Self::STREAM), 
            "RATE_LIMITED" => Ok(Self::RATE_LIMITED), 
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for Mode {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::STREAM => write!(f, "STREAM"), 
            Self::RATE_LIMITED => write!(f, "RATE_LIMITED"), 
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
