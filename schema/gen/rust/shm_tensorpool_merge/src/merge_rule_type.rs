#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum MergeRuleType {
    OFFSET = 0x0_u8, 
    WINDOW = 0x1_u8, 
    #[default]
    NullVal = 0xff_u8, 
}
impl From<u8> for MergeRuleType {
    #[inline]
    fn from(v: u8) -> Self {
        match v {
            0x0_u8 => Self::OFFSET, 
            0x1_u8 => Self::WINDOW, 
            _ => Self::NullVal,
        }
    }
}
impl From<MergeRuleType> for u8 {
    #[inline]
    fn from(v: MergeRuleType) -> Self {
        match v {
            MergeRuleType::OFFSET => 0x0_u8, 
            MergeRuleType::WINDOW => 0x1_u8, 
            MergeRuleType::NullVal => 0xff_u8,
        }
    }
}
impl core::str::FromStr for MergeRuleType {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "OFFSET" => Ok(Self::OFFSET), 
            "WINDOW" => Ok(Self::WINDOW), 
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for MergeRuleType {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::OFFSET => write!(f, "OFFSET"), 
            Self::WINDOW => write!(f, "WINDOW"), 
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
