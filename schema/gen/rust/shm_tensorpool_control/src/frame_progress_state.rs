#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FrameProgressState {
    UNKNOWN = 0x0_u8, 
    STARTED = 0x1_u8, 
    PROGRESS = 0x2_u8, 
    COMPLETE = 0x3_u8, 
    #[default]
    NullVal = 0xff_u8, 
}
impl From<u8> for FrameProgressState {
    #[inline]
    fn from(v: u8) -> Self {
        match v {
            0x0_u8 => Self::UNKNOWN, 
            0x1_u8 => Self::STARTED, 
            0x2_u8 => Self::PROGRESS, 
            0x3_u8 => Self::COMPLETE, 
            _ => Self::NullVal,
        }
    }
}
impl From<FrameProgressState> for u8 {
    #[inline]
    fn from(v: FrameProgressState) -> Self {
        match v {
            FrameProgressState::UNKNOWN => 0x0_u8, 
            FrameProgressState::STARTED => 0x1_u8, 
            FrameProgressState::PROGRESS => 0x2_u8, 
            FrameProgressState::COMPLETE => 0x3_u8, 
            FrameProgressState::NullVal => 0xff_u8,
        }
    }
}
impl core::str::FromStr for FrameProgressState {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "UNKNOWN" => Ok(Self::UNKNOWN), 
            "STARTED" => Ok(Self::STARTED), 
            "PROGRESS" => Ok(Self::PROGRESS), 
            "COMPLETE" => Ok(Self::COMPLETE), 
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for FrameProgressState {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::UNKNOWN => write!(f, "UNKNOWN"), 
            Self::STARTED => write!(f, "STARTED"), 
            Self::PROGRESS => write!(f, "PROGRESS"), 
            Self::COMPLETE => write!(f, "COMPLETE"), 
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
