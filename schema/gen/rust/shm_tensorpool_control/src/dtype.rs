#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i16)]
pub enum Dtype {
    UNKNOWN = 0_i16, 
    UINT8 = 1_i16, 
    INT8 = 2_i16, 
    UINT16 = 3_i16, 
    INT16 = 4_i16, 
    UINT32 = 5_i16, 
    INT32 = 6_i16, 
    UINT64 = 7_i16, 
    INT64 = 8_i16, 
    FLOAT32 = 9_i16, 
    FLOAT64 = 10_i16, 
    BOOLEAN = 11_i16, 
    BYTES = 13_i16, 
    BIT = 14_i16, 
    #[default]
    NullVal = -32768_i16, 
}
impl From<i16> for Dtype {
    #[inline]
    fn from(v: i16) -> Self {
        match v {
            0_i16 => Self::UNKNOWN, 
            1_i16 => Self::UINT8, 
            2_i16 => Self::INT8, 
            3_i16 => Self::UINT16, 
            4_i16 => Self::INT16, 
            5_i16 => Self::UINT32, 
            6_i16 => Self::INT32, 
            7_i16 => Self::UINT64, 
            8_i16 => Self::INT64, 
            9_i16 => Self::FLOAT32, 
            10_i16 => Self::FLOAT64, 
            11_i16 => Self::BOOLEAN, 
            13_i16 => Self::BYTES, 
            14_i16 => Self::BIT, 
            _ => Self::NullVal,
        }
    }
}
impl From<Dtype> for i16 {
    #[inline]
    fn from(v: Dtype) -> Self {
        match v {
            Dtype::UNKNOWN => 0_i16, 
            Dtype::UINT8 => 1_i16, 
            Dtype::INT8 => 2_i16, 
            Dtype::UINT16 => 3_i16, 
            Dtype::INT16 => 4_i16, 
            Dtype::UINT32 => 5_i16, 
            Dtype::INT32 => 6_i16, 
            Dtype::UINT64 => 7_i16, 
            Dtype::INT64 => 8_i16, 
            Dtype::FLOAT32 => 9_i16, 
            Dtype::FLOAT64 => 10_i16, 
            Dtype::BOOLEAN => 11_i16, 
            Dtype::BYTES => 13_i16, 
            Dtype::BIT => 14_i16, 
            Dtype::NullVal => -32768_i16,
        }
    }
}
impl core::str::FromStr for Dtype {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "UNKNOWN" => Ok(Self::UNKNOWN), 
            "UINT8" => Ok(Self::UINT8), 
            "INT8" => Ok(Self::INT8), 
            "UINT16" => Ok(Self::UINT16), 
            "INT16" => Ok(Self::INT16), 
            "UINT32" => Ok(Self::UINT32), 
            "INT32" => Ok(Self::INT32), 
            "UINT64" => Ok(Self::UINT64), 
            "INT64" => Ok(Self::INT64), 
            "FLOAT32" => Ok(Self::FLOAT32), 
            "FLOAT64" => Ok(Self::FLOAT64), 
            "BOOLEAN" => Ok(Self::BOOLEAN), 
            "BYTES" => Ok(Self::BYTES), 
            "BIT" => Ok(Self::BIT), 
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for Dtype {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::UNKNOWN => write!(f, "UNKNOWN"), 
            Self::UINT8 => write!(f, "UINT8"), 
            Self::INT8 => write!(f, "INT8"), 
            Self::UINT16 => write!(f, "UINT16"), 
            Self::INT16 => write!(f, "INT16"), 
            Self::UINT32 => write!(f, "UINT32"), 
            Self::INT32 => write!(f, "INT32"), 
            Self::UINT64 => write!(f, "UINT64"), 
            Self::INT64 => write!(f, "INT64"), 
            Self::FLOAT32 => write!(f, "FLOAT32"), 
            Self::FLOAT64 => write!(f, "FLOAT64"), 
            Self::BOOLEAN => write!(f, "BOOLEAN"), 
            Self::BYTES => write!(f, "BYTES"), 
            Self::BIT => write!(f, "BIT"), 
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
