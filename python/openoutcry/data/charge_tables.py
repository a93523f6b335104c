"""Tables of costs by symbol and of funding, as attributes of a market."""

from __future__ import annotations

from openoutcry.data.columns import StoredTable


class ChargeTables:
    """The tables of a market in place of numbers of the cost model.

    None where it has none.
    """

    half_spread_bps = StoredTable["Table | None"]("Half-spreads in place of `slippage_bps`.")
    fee_bps = StoredTable["Table | None"]("Commissions in place of that of the cost model.")
    borrow_bps = StoredTable["Table | None"]("Annual borrow fees in place of that of the cost model.")
    funding = StoredTable["Table | None"]("Rate of the bar that longs pay and shorts receive.")
