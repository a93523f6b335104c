"""Cost models of typical accounts, with the sources of their numbers.

They are starting points: replace a number by your own where you know it.
"""

from __future__ import annotations

from openoutcry.openoutcry_py import CostModel

RETAIL_EQUITY = CostModel(
    fee_bps=0.0, slippage_bps=5.0, financing_bps=600.0, cash_bps=0.0, borrow_bps=100.0, capital=1e5
)
"""Shares of large companies through a retail broker without commission.

Half-spread and price improvement: retail market orders cost 7 to 46 bps a round trip, Schwarz, Barber, Huang, Jorion
and Odean (2025), "The actual retail price of equity trades", Journal of Finance 80. Margin loans: a benchmark plus 5 to
7 % in the fee schedules of large brokers.
"""

INSTITUTIONAL_EQUITY = CostModel(
    fee_bps=0.5, slippage_bps=1.0, impact_bps=100.0, financing_bps=60.0, cash_bps=0.0, borrow_bps=30.0, capital=1e8
)
"""Shares of large companies through an algorithm of a broker.

Impact: the daily volatility times the square root of participation, here 1 % a day, Toth et al. (2011), "Anomalous
price impact and the critical nature of liquidity in financial markets", Physical Review X 1. Costs of a large manager:
Frazzini, Israel and Moskowitz (2018), "Trading costs", SSRN 3229719. Borrow: general collateral, D'Avolio (2002), "The
market for borrowing stock", Journal of Financial Economics 66.
"""

CRYPTO_SPOT = CostModel(
    fee_bps=10.0, slippage_bps=1.0, impact_bps=300.0, financing_bps=1000.0, cash_bps=0.0, borrow_bps=500.0, capital=1e5
)
"""Spot trades of large coins, as a taker without a volume discount.

Fee: 0.1 % of the lowest tier in the public schedules of the largest exchanges. Impact: a daily volatility of 3 %.
"""

CRYPTO_PERPETUAL = CostModel(
    fee_bps=5.0, slippage_bps=1.0, impact_bps=300.0, financing_bps=0.0, cash_bps=0.0, borrow_bps=0.0, capital=1e5
)
"""Perpetual futures of large coins, as a taker; add the column `funding` to the market.

Fee: 0.05 % of the lowest taker tier in the public schedules of the largest exchanges. Positions need margin in place of
loans, so that carrying them costs the funding alone.
"""

FX = CostModel(fee_bps=0.2, slippage_bps=0.5, financing_bps=150.0, cash_bps=0.0, borrow_bps=150.0, capital=1e6)
"""Major currency pairs through a margin broker.

Half-spread and commission: 0.6 to 1 pip of EUR/USD in all. Financing: the mark-up on both legs of an overnight position
in the fee schedules of brokers. The difference of interest rates is not in it.
"""

PRESETS = {
    "retail-equity": RETAIL_EQUITY,
    "institutional-equity": INSTITUTIONAL_EQUITY,
    "crypto-spot": CRYPTO_SPOT,
    "crypto-perpetual": CRYPTO_PERPETUAL,
    "fx": FX,
}
"""The cost models by name."""
