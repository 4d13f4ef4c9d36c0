#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum SignalKind {
    STREAM_GRACEFUL_END = 0x0_u8, 
    SYNC_TEST = 0x1_u8, 
    #[default]
    NullVal = 0xff_u8, 
}
impl From<u8> for SignalKind {
    #[inline]
    fn from(v: u8) -> Self {
        match v {
            0x0_u8 => Self::STREAM_GRACEFUL_END, 
            0x1_u8 => Self::SYNC_TEST, 
            _ => Self::NullVal,
        }
    }
}
impl From<SignalKind> for u8 {
    #[inline]
    fn from(v: SignalKind) -> Self {
        match v {
            SignalKind::STREAM_GRACEFUL_END => 0x0_u8, 
            SignalKind::SYNC_TEST => 0x1_u8, 
            SignalKind::NullVal => 0xff_u8,
        }
    }
}
impl core::str::FromStr for SignalKind {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "STREAM_GRACEFUL_END" => Ok(Self::STREAM_GRACEFUL_END), 
            "SYNC_TEST" => Ok(Self::SYNC_TEST), 
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for SignalKind {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::STREAM_GRACEFUL_END => write!(f, "STREAM_GRACEFUL_END"), 
            Self::SYNC_TEST => write!(f, "SYNC_TEST"), 
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
