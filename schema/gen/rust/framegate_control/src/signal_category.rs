#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum SignalCategory {
    INSTANT = 0x0_u8, 
    BARRIER = 0x1_u8, 
    #[default]
    NullVal = 0xff_u8, 
}
impl From<u8> for SignalCategory {
    #[inline]
    fn from(v: u8) -> Self {
        match v {
            0x0_u8 => Self::INSTANT, 
            0x1_u8 => Self::BARRIER, 
            _ => Self::NullVal,
        }
    }
}
impl From<SignalCategory> for u8 {
    #[inline]
    fn from(v: SignalCategory) -> Self {
        match v {
            SignalCategory::INSTANT => 0x0_u8, 
            SignalCategory::BARRIER => 0x1_u8, 
            SignalCategory::NullVal => 0xff_u8,
        }
    }
}
impl core::str::FromStr for SignalCategory {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "INSTANT" => Ok(Self::INSTANT), 
            "BARRIER" => Ok(Self::BARRIER), 
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for SignalCategory {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::INSTANT => write!(f, "INSTANT"), 
            Self::BARRIER => write!(f, "BARRIER"), 
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
