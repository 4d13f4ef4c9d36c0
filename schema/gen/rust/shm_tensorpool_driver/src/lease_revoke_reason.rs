#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum LeaseRevokeReason {
    DETACHED = 0x1_u8, 
    EXPIRED = 0x2_u8, 
    REVOKED = 0x3_u8, 
    #[default]
    NullVal = 0xff_u8, 
}
impl From<u8> for LeaseRevokeReason {
    #[inline]
    fn from(v: u8) -> Self {
        match v {
            0x1_u8 => Self::DETACHED, 
            0x2_u8 => Self::EXPIRED, 
            0x3_u8 => Self::REVOKED, 
            _ => Self::NullVal,
        }
    }
}
impl From<LeaseRevokeReason> for u8 {
    #[inline]
    fn from(v: LeaseRevokeReason) -> Self {
        match v {
            LeaseRevokeReason::DETACHED => 0x1_u8, 
            LeaseRevokeReason::EXPIRED => 0x2_u8, 
            LeaseRevokeReason::REVOKED => 0x3_u8, 
            LeaseRevokeReason::NullVal => 0xff_u8,
        }
    }
}
impl core::str::FromStr for LeaseRevokeReason {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "DETACHED" => Ok(Self::DETACHED), 
            "EXPIRED" => Ok(Self::EXPIRED), 
            "REVOKED" => Ok(Self::REVOKED), 
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for LeaseRevokeReason {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::DETACHED => write!(f, "DETACHED"), 
            Self::EXPIRED => write!(f, "EXPIRED"), 
            Self::REVOKED => write!(f, "REVOKED"), 
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
