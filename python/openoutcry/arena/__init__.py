"""The Arena: a live competition of forecasters on prediction markets, with a public log."""
