#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum AckStatus {
    SNAPSHOT_TAKEN = 0x0_u8, 
    COMPLETE = 0x1_u8, 
    FAILED = 0x2_u8, 
    #[default]
    NullVal = 0xff_u8, 
}
impl From<u8> for AckStatus {
    #[inline]
    fn from(v: u8) -> Self {
        match v {
            0x0_u8 => Self::SNAPSHOT_TAKEN, 
            0x1_u8 => Self::COMPLETE, 
            0x2_u8 => Self::FAILED, 
            _ => Self::NullVal,
        }
    }
}
impl From<AckStatus> for u8 {
    #[inline]
    fn from(v: AckStatus) -> Self {
        match v {
            AckStatus::SNAPSHOT_TAKEN => 0x0_u8, 
            AckStatus::COMPLETE => 0x1_u8, 
            AckStatus::FAILED => 0x2_u8, 
            AckStatus::NullVal => 0xff_u8,
        }
    }
}
impl core::str::FromStr for AckStatus {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "SNAPSHOT_TAKEN" => Ok(Self::SNAPSHOT_TAKEN), 
            "COMPLETE" => Ok(Self::COMPLETE), 
            "FAILED" => Ok(Self::FAILED), 
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for AckStatus {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::SNAPSHOT_TAKEN => write!(f, "SNAPSHOT_TAKEN"), 
            Self::COMPLETE => write!(f, "COMPLETE"), 
            Self::FAILED => write!(f, "FAILED"), 
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
