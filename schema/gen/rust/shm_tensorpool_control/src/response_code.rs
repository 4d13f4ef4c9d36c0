#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
pub enum ResponseCode {
    OK = 0_i32, 
    UNSUPPORTED = 1_i32, 
    INVALID_PARAMS = 2_i32, 
    REJECTED = 3_i32, 
    INTERNAL_ERROR = 4_i32, 
    #[default]
    NullVal = -2147483648_i32, 
}
impl From<i32> for ResponseCode {
    #[inline]
    fn from(v: i32) -> Self {
        match v {
            0_i32 => Self::OK, 
            1_i32 => Self::UNSUPPORTED, 
            2_i32 => Self::INVALID_PARAMS, 
            3_i32 => Self::REJECTED, 
            4_i32 => Self::INTERNAL_ERROR, 
            _ => Self::NullVal,
        }
    }
}
impl From<ResponseCode> for i32 {
    #[inline]
    fn from(v: ResponseCode) -> Self {
        match v {
            ResponseCode::OK => 0_i32, 
            ResponseCode::UNSUPPORTED => 1_i32, 
            ResponseCode::INVALID_PARAMS => 2_i32, 
            ResponseCode::REJECTED => 3_i32, 
            ResponseCode::INTERNAL_ERROR => 4_i32, 
            ResponseCode::NullVal => -2147483648_i32,
        }
    }
}
impl core::str::FromStr for ResponseCode {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "OK" => Ok(Self::OK), 
            "UNSUPPORTED" => Ok(Self::UNSUPPORTED), 
            "INVALID_PARAMS" => Ok(Self::INVALID_PARAMS), 
            "REJECTED" => Ok(Self::REJECTED), 
            "INTERNAL_ERROR" => Ok(Self::INTERNAL_ERROR), 
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for ResponseCode {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::OK => write!(f, "OK"), 
            Self::UNSUPPORTED => write!(f, "UNSUPPORTED"), 
            Self::INVALID_PARAMS => write!(f, "INVALID_PARAMS"), 
            Self::REJECTED => write!(f, "REJECTED"), 
            Self::INTERNAL_ERROR => write!(f, "INTERNAL_ERROR"), 
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
