#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i16)]
pub enum MajorOrder {
    UNKNOWN = 0_i16, 
    ROW = 1_i16, 
    COLUMN = 2_i16, 
    #[default]
    NullVal = -32768_i16, 
}
impl From<i16> for MajorOrder {
    #[inline]
    fn from(v: i16) -> Self {
        match v {
            0_i16 => Self::UNKNOWN, 
            1_i16 => Self::ROW, 
            2_i16 => Self::COLUMN, 
            _ => Self::NullVal,
        }
    }
}
impl From<MajorOrder> for i16 {
    #[inline]
    fn from(v: MajorOrder) -> Self {
        match v {
            MajorOrder::UNKNOWN => 0_i16, 
            MajorOrder::ROW => 1_i16, 
            MajorOrder::COLUMN => 2_i16, 
            MajorOrder::NullVal => -32768_i16,
        }
    }
}
impl core::str::FromStr for MajorOrder {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "UNKNOWN" => Ok(Self::UNKNOWN), 
            "ROW" => Ok(Self::ROW), 
            "COLUMN" => Ok(Self::COLUMN), 
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for MajorOrder {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::UNKNOWN => write!(f, "UNKNOWN"), 
            Self::ROW => write!(f, "ROW"), 
            Self::COLUMN => write!(f, "COLUMN"), 
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
