/// An event of a step, other than the move of prices.
///
/// `symbol` is the index in the dataset. Shares are signed and per NAV of 1. Prices are in account currency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// An order was filled.
    Filled {
        /// Symbol index.
        symbol: usize,
        /// Shares bought (> 0) or sold (< 0).
        shares: f64,
        /// Price paid, slippage and impact included.
        price: f64,
    },
    /// A position was closed by its stop loss or take profit.
    Exited {
        /// Symbol index.
        symbol: usize,
        /// Shares bought (> 0) or sold (< 0).
        shares: f64,
        /// Price paid, slippage and impact included.
        price: f64,
        /// Which exit.
        reason: ExitReason,
    },
    /// An order was dropped.
    Unfilled {
        /// Symbol index.
        symbol: usize,
        /// Shares ordered.
        shares: f64,
        /// Why.
        reason: UnfilledReason,
    },
    /// One order of the decision was refused.
    Refused {
        /// Symbol index.
        symbol: usize,
        /// Weight ordered.
        weight: f64,
        /// Why.
        reason: RefusalReason,
    },
    /// A limit cut an order, or all orders if `symbol` is absent.
    Limited {
        /// Symbol index; absent for a limit on the whole book.
        symbol: Option<usize>,
        /// Weight, gross weight or shares requested.
        requested: f64,
        /// Weight, gross weight or shares allowed.
        allowed: f64,
        /// Which limit.
        reason: LimitReason,
    },
    /// An order for a halted symbol was sized on its last close.
    StalePrice {
        /// Symbol index.
        symbol: usize,
        /// The stale mark.
        price: f64,
    },
    /// A position was settled because its symbol was delisted.
    Delisted {
        /// Symbol index.
        symbol: usize,
        /// Shares settled.
        shares: f64,
        /// Cash per share.
        price: f64,
    },
    /// A position was closed by a margin call.
    Liquidated {
        /// Symbol index.
        symbol: usize,
        /// Shares closed.
        shares: f64,
        /// Price paid.
        price: f64,
    },
    /// The account was wiped out.
    Ruined {
        /// Loss beyond the account, written off.
        shortfall: f64,
    },
}

impl Event {
    /// Returns the stable name of this event in `contract/errors.json`.
    #[must_use]
    pub fn slug(&self) -> &'static str {
        match self {
            Self::Filled { .. } => "filled",
            Self::Exited { .. } => "exited",
            Self::Unfilled { .. } => "unfilled",
            Self::Refused { .. } => "refused",
            Self::Limited { .. } => "limited",
            Self::StalePrice { .. } => "stale_price",
            Self::Delisted { .. } => "delisted",
            Self::Liquidated { .. } => "liquidated",
            Self::Ruined { .. } => "ruined",
        }
    }

    /// Returns the index of the symbol, if the event has one.
    #[must_use]
    pub fn symbol(&self) -> Option<usize> {
        match *self {
            Self::Filled { symbol, .. }
            | Self::Exited { symbol, .. }
            | Self::Unfilled { symbol, .. }
            | Self::Refused { symbol, .. }
            | Self::StalePrice { symbol, .. }
            | Self::Delisted { symbol, .. }
            | Self::Liquidated { symbol, .. } => Some(symbol),
            Self::Limited { symbol, .. } => symbol,
            Self::Ruined { .. } => None,
        }
    }

    /// Returns the reason within the slug, if it has one.
    #[must_use]
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Exited { reason, .. } => Some(reason.slug()),
            Self::Unfilled { reason, .. } => Some(reason.slug()),
            Self::Refused { reason, .. } => Some(reason.slug()),
            Self::Limited { reason, .. } => Some(reason.slug()),
            _ => None,
        }
    }

    /// Returns the numbers of this event by name.
    #[must_use]
    pub fn numbers(&self) -> [Option<(&'static str, f64)>; 2] {
        match *self {
            Self::Filled { shares, price, .. }
            | Self::Exited { shares, price, .. }
            | Self::Delisted { shares, price, .. }
            | Self::Liquidated { shares, price, .. } => [Some(("shares", shares)), Some(("price", price))],
            Self::Unfilled { shares, .. } => [Some(("shares", shares)), None],
            Self::Refused { weight, .. } => [Some(("weight", weight)), None],
            Self::Limited { requested, allowed, .. } => [Some(("requested", requested)), Some(("allowed", allowed))],
            Self::StalePrice { price, .. } => [Some(("price", price)), None],
            Self::Ruined { shortfall } => [Some(("shortfall", shortfall)), None],
        }
    }
}

macro_rules! reasons {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident => $slug:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// Returns the stable name of this reason in `contract/errors.json`.
            #[must_use]
            pub fn slug(self) -> &'static str {
                match self { $(Self::$variant => $slug,)* }
            }
        }
    };
}

reasons! {
    /// Why an order was dropped.
    UnfilledReason {
        /// No price to fill at, or no close to mark at.
        NoPrice => "no_price",
        /// The tradable mask forbids it.
        NotTradable => "not_tradable",
        /// The bar has no volume.
        NoVolume => "no_volume",
        /// Slippage and impact together reach half the price.
        CostTooHigh => "cost_too_high",
        /// The bar did not trade through the limit.
        LimitNotReached => "limit_not_reached",
        /// The bar did not reach the stop.
        StopNotReached => "stop_not_reached",
        /// The data do not show the range of the bar.
        NoRange => "no_range",
        /// An exit closed the whole position first.
        Exited => "exited",
    }
}

reasons! {
    /// Which exit closed a position.
    ExitReason {
        /// `stop_loss`.
        StopLoss => "stop_loss",
        /// `take_profit`.
        TakeProfit => "take_profit",
    }
}

reasons! {
    /// Why one order of a decision was refused.
    RefusalReason {
        /// |weight| above 100.
        WeightOutOfRange => "weight_out_of_range",
        /// A weight below zero while shorts are not allowed.
        ShortNotAllowed => "short_not_allowed",
        /// The symbol does not exist, or has not closed yet.
        UnknownSymbol => "unknown_symbol",
        /// The decision names the symbol more than once.
        DuplicateOrder => "duplicate_order",
        /// The symbol has been settled.
        SettledSymbol => "settled_symbol",
        /// The stop loss is not on the losing side of the take profit.
        ExitsCrossed => "exits_crossed",
    }
}

reasons! {
    /// Which limit cut an order.
    LimitReason {
        /// `max_weight`.
        MaxWeight => "max_weight",
        /// `max_gross`.
        MaxGross => "max_gross",
        /// `max_participation`.
        Participation => "participation",
        /// A reduction was not filled, so new exposure is cut to keep `max_gross`.
        Rebalanced => "rebalanced",
        /// The cash of an account with `cash_account`.
        Cash => "cash",
    }
}
