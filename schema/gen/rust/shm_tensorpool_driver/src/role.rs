#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Role {
    PRODUCER = 0x1_u8, 
    CONSUMER = 0x2_u8, 
    #[default]
    NullVal = 0xff_u8, 
}
impl From<u8> for Role {
    #[inline]
    fn from(v: u8) -> Self {
        match v {
            0x1_u8 => Self::PRODUCER, 
            0x2_u8 => Self::CONSUMER, 
            _ => Self::NullVal,
        }
    }
}
impl From<Role> for u8 {
    #[inline]
    fn from(v: Role) -> Self {
        match v {
            Role::PRODUCER => 0x1_u8, 
            Role::CONSUMER => 0x2_u8, 
            Role::NullVal => 0xff_u8,
        }
    }
}
impl core::str::FromStr for Role {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "PRODUCER" => Ok(Self::PRODUCER), 
            "CONSUMER" => Ok(Self::CONSUMER), 
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for Role {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::PRODUCER => write!(f, "PRODUCER"), 
            Self::CONSUMER => write!(f, "CONSUMER"), 
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
