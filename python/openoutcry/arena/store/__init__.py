"""The database of an arena: one writer, and as many readers as there are."""
