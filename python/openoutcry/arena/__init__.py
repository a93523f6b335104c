"""The arena: a live forecasting competition whose every number can be recomputed."""
