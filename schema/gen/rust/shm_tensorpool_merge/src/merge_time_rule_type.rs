#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum MergeTimeRuleType {
    OFFSET_NS = 0x0_u8, 
    WINDOW_NS = 0x1_u8, 
    #[default]
    NullVal = 0xff_u8, 
}
impl From<u8> for MergeTimeRuleType {
    #[inline]
    fn from(v: u8) -> Self {
        match v {
            0x0_u8 => Self::OFFSET_NS, 
            0x1_u8 => Self::WINDOW_NS, 
            _ => Self::NullVal,
        }
    }
}
impl From<MergeTimeRuleType> for u8 {
    #[inline]
    fn from(v: MergeTimeRuleType) -> Self {
        match v {
            MergeTimeRuleType::OFFSET_NS => 0x0_u8, 
            MergeTimeRuleType::WINDOW_NS => 0x1_u8, 
            MergeTimeRuleType::NullVal => 0xff_u8,
        }
    }
}
impl core::str::FromStr for MergeTimeRuleType {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "OFFSET_NS" => Ok(Self::OFFSET_NS), 
            "WINDOW_NS" => Ok(Self::WINDOW_NS), 
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for MergeTimeRuleType {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::OFFSET_NS => write!(f, "OFFSET_NS"), 
            Self::WINDOW_NS => write!(f, "WINDOW_NS"), 
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
