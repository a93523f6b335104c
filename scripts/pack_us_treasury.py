"""Pack a Treasury yield table into the file that `openoutcry.data` bundles.

    python scripts/pack_us_treasury.py treasury_curves.csv

The table is `zipline/resources/market_data/treasury_curves.csv` of the `zipline-reloaded` 3.2.1 wheel. The same table
always packs into a file that unpacks to the same bytes; the packed bytes are the same for the same zlib.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

TARGET = Path(__file__).parents[1] / "python/openoutcry/data/bundled/us_treasury.csv.gz"


def main(table: Path) -> None:
    """Write `table` to `TARGET`, without the name and the time that gzip would add."""
    TARGET.write_bytes(gzip.compress(table.read_bytes(), compresslevel=9, mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
