#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum OperatorState {
    PRESENT = 0x0_u8, 
    LEAVING = 0x1_u8, 
    #[default]
    NullVal = 0xff_u8, 
}
impl From<u8> for OperatorState {
    #[inline]
    fn from(v: u8) -> Self {
        match v {
            0x0_u8 => Self::PRESENT, 
            0x1_u8 => Self::LEAVING, 
            _ => Self::NullVal,
        }
    }
}
impl From<OperatorState> for u8 {
    #[inline]
    fn from(v: OperatorState) -> Self {
        match v {
            OperatorState::PRESENT => 0x0_u8, 
            OperatorState::LEAVING => 0x1_u8, 
            OperatorState::NullVal => 0xff_u8,
        }
    }
}
impl core::str::FromStr for OperatorState {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "PRESENT" => Ok(Self::PRESENT), 
            "LEAVING" => Ok(Self::LEAVING), 
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for OperatorState {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::PRESENT => write!(f, "PRESENT"), 
            Self::LEAVING => write!(f, "LEAVING"), 
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
