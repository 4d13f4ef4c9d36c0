#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum PublishMode {
    REQUIRE_EXISTING = 0x1_u8, 
    EXISTING_OR_CREATE = 0x2_u8, 
    #[default]
    NullVal = 0xff_u8, 
}
impl From<u8> for PublishMode {
    #[inline]
    fn from(v: u8) -> Self {
        match v {
            0x1_u8 => Self::REQUIRE_EXISTING, 
            0x2_u8 => Self::EXISTING_OR_CREATE, 
            _ => Self::NullVal,
        }
    }
}
impl From<PublishMode> for u8 {
    #[inline]
    fn from(v: PublishMode) -> Self {
        match v {
            PublishMode::REQUIRE_EXISTING => 0x1_u8, 
            PublishMode::EXISTING_OR_CREATE => 0x2_u8, 
            PublishMode::NullVal => 0xff_u8,
        }
    }
}
impl core::str::FromStr for PublishMode {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "REQUIRE_EXISTING" => Ok(Self::REQUIRE_EXISTING), 
            "EXISTING_OR_CREATE" => Ok(Self::EXISTING_OR_CREATE), 
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for PublishMode {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::REQUIRE_EXISTING => write!(f, "REQUIRE_EXISTING"), 
            Self::EXISTING_OR_CREATE => write!(f, "EXISTING_OR_CREATE"), 
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
