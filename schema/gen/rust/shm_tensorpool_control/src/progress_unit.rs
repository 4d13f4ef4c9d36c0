#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ProgressUnit {
    NONE = 0x0_u8, 
    ROWS = 0x1_u8, 
    COLUMNS = 0x2_u8, 
    #[default]
    NullVal = 0xff_u8, 
}
impl From<u8> for ProgressUnit {
    #[inline]
    fn from(v: u8) -> Self {
        match v {
            0x0_u8 => Self::NONE, 
            0x1_u8 => Self::ROWS, 
            0x2_u8 => Self::COLUMNS, 
            _ => Self::NullVal,
        }
    }
}
impl From<ProgressUnit> for u8 {
    #[inline]
    fn from(v: ProgressUnit) -> Self {
        match v {
            ProgressUnit::NONE => 0x0_u8, 
            ProgressUnit::ROWS => 0x1_u8, 
            ProgressUnit::COLUMNS => 0x2_u8, 
            ProgressUnit::NullVal => 0xff_u8,
        }
    }
}
impl core::str::FromStr for ProgressUnit {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "NONE" => Ok(Self::NONE), 
            "ROWS" => Ok(Self::ROWS), 
            "COLUMNS" => Ok(Self::COLUMNS), 
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for ProgressUnit {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NONE => write!(f, "NONE"), 
            Self::ROWS => write!(f, "ROWS"), 
            Self::COLUMNS => write!(f, "COLUMNS"), 
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
