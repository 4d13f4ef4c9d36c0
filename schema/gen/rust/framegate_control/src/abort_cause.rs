#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum AbortCause {
    TIMEOUT = 0x0_u8, 
    MEMORY_LIMIT = 0x1_u8, 
    INPUT_LIMIT = 0x2_u8, 
    INFLIGHT_LIMIT = 0x3_u8, 
    HIGHER_BARRIER = 0x4_u8, 
    INPUT_LOST = 0x5_u8, 
    INPUT_EPOCH_CHANGED = 0x6_u8, 
    LATE_BARRIER_TIMEOUT = 0x7_u8, 
    SERIALISATION_FAILED = 0x8_u8, 
    CHANNEL_READ_FAILED = 0x9_u8, 
    INJECTION_FAILED = 0xa_u8, 
    OPERATOR_FAILED = 0xb_u8, 
    STORE_FAILED = 0xc_u8, 
    COORDINATOR = 0xd_u8, 
    #[default]
    NullVal = 0xff_u8, 
}
impl From<u8> for AbortCause {
    #[inline]
    fn from(v: u8) -> Self {
        match v {
            0x0_u8 => Self::TIMEOUT, 
            0x1_u8 => Self::MEMORY_LIMIT, 
            0x2_u8 => Self::INPUT_LIMIT, 
            0x3_u8 => Self::INFLIGHT_LIMIT, 
            0x4_u8 => Self::HIGHER_BARRIER, 
            0x5_u8 => Self::INPUT_LOST, 
            0x6_u8 => Self::INPUT_EPOCH_CHANGED, 
            0x7_u8 => Self::LATE_BARRIER_TIMEOUT, 
            0x8_u8 => Self::SERIALISATION_FAILED, 
            0x9_u8 => Self::CHANNEL_READ_FAILED, 
            0xa_u8 => Self::INJECTION_FAILED, 
            0xb_u8 => Self::OPERATOR_FAILED, 
            0xc_u8 => Self::STORE_FAILED, 
            0xd_u8 => Self::COORDINATOR, 
            _ => Self::NullVal,
        }
    }
}
impl From<AbortCause> for u8 {
    #[inline]
    fn from(v: AbortCause) -> Self {
        match v {
            AbortCause::TIMEOUT => 0x0_u8, 
            AbortCause::MEMORY_LIMIT => 0x1_u8, 
            AbortCause::INPUT_LIMIT => 0x2_u8, 
            AbortCause::INFLIGHT_LIMIT => 0x3_u8, 
            AbortCause::HIGHER_BARRIER => 0x4_u8, 
            AbortCause::INPUT_LOST => 0x5_u8, 
            AbortCause::INPUT_EPOCH_CHANGED => 0x6_u8, 
            AbortCause::LATE_BARRIER_TIMEOUT => 0x7_u8, 
            AbortCause::SERIALISATION_FAILED => 0x8_u8, 
            AbortCause::CHANNEL_READ_FAILED => 0x9_u8, 
            AbortCause::INJECTION_FAILED => 0xa_u8, 
            AbortCause::OPERATOR_FAILED => 0xb_u8, 
            AbortCause::STORE_FAILED => 0xc_u8, 
            AbortCause::COORDINATOR => 0xd_u8, 
            AbortCause::NullVal => 0xff_u8,
        }
    }
}
impl core::str::FromStr for AbortCause {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "TIMEOUT" => Ok(Self::TIMEOUT), 
            "MEMORY_LIMIT" => Ok(Self::MEMORY_LIMIT), 
            "INPUT_LIMIT" => Ok(Self::INPUT_LIMIT), 
            "INFLIGHT_LIMIT" => Ok(Self::INFLIGHT_LIMIT), 
            "HIGHER_BARRIER" => Ok(Self::HIGHER_BARRIER), 
            "INPUT_LOST" => Ok(Self::INPUT_LOST), 
            "INPUT_EPOCH_CHANGED" => Ok(Self::INPUT_EPOCH_CHANGED), 
            "LATE_BARRIER_TIMEOUT" => Ok(Self::LATE_BARRIER_TIMEOUT), 
            "SERIALISATION_FAILED" => Ok(Self::SERIALISATION_FAILED), 
            "CHANNEL_READ_FAILED" => Ok(Self::CHANNEL_READ_FAILED), 
            "INJECTION_FAILED" => Ok(Self::INJECTION_FAILED), 
            "OPERATOR_FAILED" => Ok(Self::OPERATOR_FAILED), 
            "STORE_FAILED" => Ok(Self::STORE_FAILED), 
            "COORDINATOR" => Ok(Self::COORDINATOR), 
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for AbortCause {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::TIMEOUT => write!(f, "TIMEOUT"), 
            Self::MEMORY_LIMIT => write!(f, "MEMORY_LIMIT"), 
            Self::INPUT_LIMIT => write!(f, "INPUT_LIMIT"), 
            Self::INFLIGHT_LIMIT => write!(f, "INFLIGHT_LIMIT"), 
            Self::HIGHER_BARRIER => write!(f, "HIGHER_BARRIER"), 
            Self::INPUT_LOST => write!(f, "INPUT_LOST"), 
            Self::INPUT_EPOCH_CHANGED => write!(f, "INPUT_EPOCH_CHANGED"), 
            Self::LATE_BARRIER_TIMEOUT => write!(f, "LATE_BARRIER_TIMEOUT"), 
            Self::SERIALISATION_FAILED => write!(f, "SERIALISATION_FAILED"), 
            Self::CHANNEL_READ_FAILED => write!(f, "CHANNEL_READ_FAILED"), 
            Self::INJECTION_FAILED => write!(f, "INJECTION_FAILED"), 
            Self::OPERATOR_FAILED => write!(f, "OPERATOR_FAILED"), 
            Self::STORE_FAILED => write!(f, "STORE_FAILED"), 
            Self::COORDINATOR => write!(f, "COORDINATOR"), 
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
