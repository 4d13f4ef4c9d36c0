#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ClockDomain {
    MONOTONIC = 0x1_u8, 
    REALTIME_SYNCED = 0x2_u8, 
    #[default]
    NullVal = 0xff_u8, 
}
impl From<u8> for ClockDomain {
    #[inline]
    fn from(v: u8) -> Self {
        match v {
            0x1_u8 => Self::MONOTONIC, 
            0x2_u8 => Self::REALTIME_SYNCED, 
            _ => Self::NullVal,
        }
    }
}
impl From<ClockDomain> for u8 {
    #[inline]
    fn from(v: ClockDomain) -> Self {
        match v {
            ClockDomain::MONOTONIC => 0x1_u8, 
            ClockDomain::REALTIME_SYNCED => 0x2_u8, 
            ClockDomain::NullVal => 0xff_u8,
        }
    }
}
impl core::str::FromStr for ClockDomain {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "MONOTONIC" => Ok(Self::MONOTONIC), 
            "REALTIME_SYNCED" => Ok(Self::REALTIME_SYNCED), 
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for ClockDomain {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::MONOTONIC => write!(f, "MONOTONIC"), 
            Self::REALTIME_SYNCED => write!(f, "REALTIME_SYNCED"), 
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
