#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i16)]
pub enum RegionType {
    HEADER_RING = 1_i16, 
    PAYLOAD_POOL = 2_i16, 
    #[default]
    NullVal = -32768_i16, 
}
impl From<i16> for RegionType {
    #[inline]
    fn from(v: i16) -> Self {
        match v {
            1_i16 => Self::HEADER_RING, 
            2_i16 => Self::PAYLOAD_POOL, 
            _ => Self::NullVal,
        }
    }
}
impl From<RegionType> for i16 {
    #[inline]
    fn from(v: RegionType) -> Self {
        match v {
            RegionType::HEADER_RING => 1_i16, 
            RegionType::PAYLOAD_POOL => 2_i16, 
            RegionType::NullVal => -32768_i16,
        }
    }
}
impl core::str::FromStr for RegionType {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "HEADER_RING" => Ok(Self::HEADER_RING), 
            "PAYLOAD_POOL" => Ok(Self::PAYLOAD_POOL), 
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for RegionType {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::HEADER_RING => write!(f, "HEADER_RING"), 
            Self::PAYLOAD_POOL => write!(f, "PAYLOAD_POOL"), 
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
