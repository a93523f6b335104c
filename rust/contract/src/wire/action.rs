use serde::de::{Deserialize, Deserializer, Error};

use crate::wire::fields::Name;

/// The action on a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A label; the weight decides.
    Buy,
    /// A label; the weight decides.
    Sell,
    /// Keeps the shares and overrides the weight.
    Hold,
    /// Sells the shares and overrides the weight.
    Close,
}

impl Action {
    /// All actions with their names on the wire.
    pub const NAMES: [(&'static str, Self); 4] =
        [("buy", Self::Buy), ("sell", Self::Sell), ("hold", Self::Hold), ("close", Self::Close)];

    /// Returns the name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Buy => "buy",
            Self::Sell => "sell",
            Self::Hold => "hold",
            Self::Close => "close",
        }
    }
}

impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Name(name) = Name::deserialize(deserializer)?;
        let known = Self::NAMES.iter().find(|(known, _)| *known == name);
        known.map(|(_, action)| *action).ok_or_else(|| {
            let fault = "unknown_action: `action` must be one of `buy`, `sell`, `hold`, `close`; received";
            D::Error::custom(format_args!("{fault} {name:?}"))
        })
    }
}
