"""The Arena's pages for people: whole without a script, and without a word that is secret."""
