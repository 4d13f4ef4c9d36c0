#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum TimestampSource {
    FRAME_DESCRIPTOR = 0x1_u8, 
    SLOT_HEADER = 0x2_u8, 
    #[default]
    NullVal = 0xff_u8, 
}
impl From<u8> for TimestampSource {
    #[inline]
    fn from(v: u8) -> Self {
        match v {
            0x1_u8 => Self::FRAME_DESCRIPTOR, 
            0x2_u8 => Self::SLOT_HEADER, 
            _ => Self::NullVal,
        }
    }
}
impl From<TimestampSource> for u8 {
    #[inline]
    fn from(v: TimestampSource) -> Self {
        match v {
            TimestampSource::FRAME_DESCRIPTOR => 0x1_u8, 
            TimestampSource::SLOT_HEADER => 0x2_u8, 
            TimestampSource::NullVal => 0xff_u8,
        }
    }
}
impl core::str::FromStr for TimestampSource {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "FRAME_DESCRIPTOR" => Ok(Self::FRAME_DESCRIPTOR), 
            "SLOT_HEADER" => Ok(Self::SLOT_HEADER), 
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for TimestampSource {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::FRAME_DESCRIPTOR => write!(f, "FRAME_DESCRIPTOR"), 
            Self::SLOT_HEADER => write!(f, "SLOT_HEADER"), 
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
