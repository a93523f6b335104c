"""The arena: a live forecasting competition, pre-registered in a public log."""
