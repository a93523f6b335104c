"""Run records: the form of a record, its hash chain, and what writes it.

`run_record` reads and signs, `record_writer` writes while a run is made, `chained_log` is the append-only log of ledger
and research. Reruns nothing: that is `backtest.replay`. Imports `errors` and the native module.
"""

from openoutcry.records.keys import fill_commitment, public_key
from openoutcry.records.record_writer import RecordWriter
from openoutcry.records.run_record import RunRecord

__all__ = ["RecordWriter", "RunRecord", "fill_commitment", "public_key"]
