"""Run records: their format, hash chain and writers.

`run_record` reads and signs records, `record_writer` writes one during a run, and `chained_log` is the append-only log
of ledger and research. Replaying is in `backtest.replay`. Imports `errors`, `untrusted` and the native module.
"""

from openoutcry.records.keys import fill_commitment, public_key
from openoutcry.records.record_writer import RecordWriter
from openoutcry.records.run_record import RunRecord

__all__ = ["RecordWriter", "RunRecord", "fill_commitment", "public_key"]
