"""The Arena's pages for people, whole without a script."""
