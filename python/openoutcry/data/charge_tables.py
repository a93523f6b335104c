"""Tables of costs by symbol and of funding, as attributes of a market."""

from __future__ import annotations

from openoutcry.data import columns


class ChargeTables:
    """The tables of a market in place of numbers of the cost model.

    None where it has none.
    """

    half_spread_bps = columns.StoredTable["columns.Table | None"]("Half-spreads in place of `slippage_bps`.")
    fee_bps = columns.StoredTable["columns.Table | None"]("Commissions in place of that of the cost model.")
    borrow_bps = columns.StoredTable["columns.Table | None"]("Annual borrow fees in place of that of the cost model.")
    funding = columns.StoredTable["columns.Table | None"]("Rate of the bar that longs pay and shorts receive.")
