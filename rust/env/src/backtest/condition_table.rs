use openoutcry_engine::DayOrder;

/// The conditions of the orders of a run, for the decisions that have some.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConditionTable {
    /// The decision of each order; rising.
    decisions: Vec<usize>,
    orders: Vec<DayOrder>,
}

impl ConditionTable {
    /// Returns a table without conditions.
    #[must_use]
    pub const fn new() -> Self {
        Self { decisions: Vec::new(), orders: Vec::new() }
    }

    /// Adds the conditions of a decision, sorted by symbol.
    ///
    /// Decisions are added in their order.
    pub fn push(&mut self, decision: usize, orders: &[DayOrder]) {
        self.decisions.extend(orders.iter().map(|_| decision));
        self.orders.extend_from_slice(orders);
    }

    /// Returns whether no order has a condition.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.orders.is_empty()
    }

    /// Returns every order with its decision.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &DayOrder)> {
        self.decisions.iter().copied().zip(&self.orders)
    }

    /// Returns the orders of a decision that have conditions, sorted by symbol.
    #[must_use]
    #[inline]
    pub fn of(&self, decision: usize) -> &[DayOrder] {
        if self.decisions.is_empty() {
            return &[];
        }
        &self.orders[self.first_from(decision)..self.first_from(decision + 1)]
    }

    /// Returns the first decision from `decision` on that has a condition.
    #[must_use]
    #[inline]
    pub fn next_from(&self, decision: usize) -> Option<usize> {
        if self.decisions.is_empty() {
            return None;
        }
        self.decisions.get(self.first_from(decision)).copied()
    }

    fn first_from(&self, decision: usize) -> usize {
        self.decisions.partition_point(|of| *of < decision)
    }

    /// Drops the conditions from `decision` on.
    pub(crate) fn truncate(&mut self, decision: usize) {
        let kept = self.first_from(decision);
        self.decisions.truncate(kept);
        self.orders.truncate(kept);
    }

    /// Moves every condition one decision later, and drops those beyond `n_decisions`.
    ///
    /// `split` returns the ratio of a split between the two decisions, which divides the prices.
    pub(crate) fn delay(&mut self, n_decisions: usize, split: impl Fn(usize, usize) -> f64) {
        self.decisions.iter_mut().for_each(|decision| *decision += 1);
        self.truncate(n_decisions);
        for (decision, order) in self.decisions.iter().zip(&mut self.orders) {
            let ratio = split(*decision, order.symbol);
            let [limit, stop, stop_loss, take_profit] = order.prices().map(|price| price / ratio);
            *order = DayOrder { limit, stop, stop_loss, take_profit, ..*order };
        }
    }
}
