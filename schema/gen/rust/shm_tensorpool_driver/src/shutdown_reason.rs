#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ShutdownReason {
    NORMAL = 0x0_u8, 
    ADMIN = 0x1_u8, 
    ERROR = 0x2_u8, 
    #[default]
    NullVal = 0xff_u8, 
}
impl From<u8> for ShutdownReason {
    #[inline]
    fn from(v: u8) -> Self {
        match v {
            0x0_u8 => Self::NORMAL, 
            0x1_u8 => Self::ADMIN, 
            0x2_u8 => Self::ERROR, 
            _ => Self::NullVal,
        }
    }
}
impl From<ShutdownReason> for u8 {
    #[inline]
    fn from(v: ShutdownReason) -> Self {
        match v {
            ShutdownReason::NORMAL => 0x0_u8, 
            ShutdownReason::ADMIN => 0x1_u8, 
            ShutdownReason::ERROR => 0x2_u8, 
            ShutdownReason::NullVal => 0xff_u8,
        }
    }
}
impl core::str::FromStr for ShutdownReason {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "NORMAL" => Ok(Self::NORMAL), 
            "ADMIN" => Ok(Self::ADMIN), 
            "ERROR" => Ok(Self::ERROR), 
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for ShutdownReason {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NORMAL => write!(f, "NORMAL"), 
            Self::ADMIN => write!(f, "ADMIN"), 
            Self::ERROR => write!(f, "ERROR"), 
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
