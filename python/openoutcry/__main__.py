"""`python -m openoutcry` is the `openoutcry` command."""

from openoutcry.cli import main

if __name__ == "__main__":
    main()
