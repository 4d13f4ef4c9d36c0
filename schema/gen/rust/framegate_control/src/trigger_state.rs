#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum TriggerState {
    WAITING = 0x0_u8, 
    STARTED = 0x1_u8, 
    COMPLETE = 0x2_u8, 
    ABORTED = 0x3_u8, 
    REFUSED = 0x4_u8, 
    #[default]
    NullVal = 0xff_u8, 
}
impl From<u8> for TriggerState {
    #[inline]
    fn from(v: u8) -> Self {
        match v {
            0x0_u8 => Self::WAITING, 
            0x1_u8 => Self::STARTED, 
            0x2_u8 => Self::COMPLETE, 
            0x3_u8 => Self::ABORTED, 
            0x4_u8 => Self::REFUSED, 
            _ => Self::NullVal,
        }
    }
}
impl From<TriggerState> for u8 {
    #[inline]
    fn from(v: TriggerState) -> Self {
        match v {
            TriggerState::WAITING => 0x0_u8, 
            TriggerState::STARTED => 0x1_u8, 
            TriggerState::COMPLETE => 0x2_u8, 
            TriggerState::ABORTED => 0x3_u8, 
            TriggerState::REFUSED => 0x4_u8, 
            TriggerState::NullVal => 0xff_u8,
        }
    }
}
impl core::str::FromStr for TriggerState {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "WAITING" => Ok(Self::WAITING), 
            "STARTED" => Ok(Self::STARTED), 
            "COMPLETE" => Ok(Self::COMPLETE), 
            "ABORTED" => Ok(Self::ABORTED), 
            "REFUSED" => Ok(Self::REFUSED), 
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for TriggerState {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::WAITING => write!(f, "WAITING"), 
            Self::STARTED => write!(f, "STARTED"), 
            Self::COMPLETE => write!(f, "COMPLETE"), 
            Self::ABORTED => write!(f, "ABORTED"), 
            Self::REFUSED => write!(f, "REFUSED"), 
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
