#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum HugepagesPolicy {
    UNSPECIFIED = 0x0_u8, 
    STANDARD = 0x1_u8, 
    HUGEPAGES = 0x2_u8, 
    #[default]
    NullVal = 0xff_u8, 
}
impl From<u8> for HugepagesPolicy {
    #[inline]
    fn from(v: u8) -> Self {
        match v {
            0x0_u8 => Self::UNSPECIFIED, 
            0x1_u8 => Self::STANDARD, 
            0x2_u8 => Self::HUGEPAGES, 
            _ => Self::NullVal,
        }
    }
}
impl From<HugepagesPolicy> for u8 {
    #[inline]
    fn from(v: HugepagesPolicy) -> Self {
        match v {
            HugepagesPolicy::UNSPECIFIED => 0x0_u8, 
            HugepagesPolicy::STANDARD => 0x1_u8, 
            HugepagesPolicy::HUGEPAGES => 0x2_u8, 
            HugepagesPolicy::NullVal => 0xff_u8,
        }
    }
}
impl core::str::FromStr for HugepagesPolicy {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "UNSPECIFIED" => Ok(Self::UNSPECIFIED), 
            "STANDARD" => Ok(Self::STANDARD), 
            "HUGEPAGES" => Ok(Self::HUGEPAGES), 
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for HugepagesPolicy {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::UNSPECIFIED => write!(f, "UNSPECIFIED"), 
            Self::STANDARD => write!(f, "STANDARD"), 
            Self::HUGEPAGES => write!(f, "HUGEPAGES"), 
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
