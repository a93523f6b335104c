"""The Arena: a live competition of forecasters, with a public log."""
