"""`python -m bench.state_memory [RECORDS]`: the memory of a table of the state, and the time to fold it.

The records are like ACLs of a hundred tenants, ten in each transaction.
"""

import gc
import os
import sys
import time
from collections.abc import Iterator

from bifrost.records.batch_reader import LogRecord
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord, encode
from bifrost.state.state_table import StateLimits, StateTable

RECORDS = 210_000
"""10,000 namespaces, 100,000 ACLs and 100,000 aliases."""


def record(number: int) -> LogRecord:
    """Return a record of the log."""
    key = StateKey("acl", f"tenant-{number % 100}/rule-{number:06d}")
    body = {
        "name": f"orders-{number}",
        "operation": "READ",
        "permission": "ALLOW",
        "principal": f"User:user-{number}",
        "resource": "topic",
    }
    made = StateRecord(key, 1, 1_800_000_000_000, f"{number // 10:024x}", "host-1/4711", "User:alice", body)
    return LogRecord(number, 0, key.to_bytes(), encode(made))


def transactions(count: int) -> Iterator[list[LogRecord]]:
    """Yield the records of a log."""
    for first in range(0, count, 10):
        yield [record(number) for number in range(first, min(first + 10, count))]


def resident_bytes() -> int:
    """Return this process's resident memory."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Measure, and print a line."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else RECORDS
    table = StateTable(StateLimits(count, 65_536, 2**40))
    gc.collect()
    before, folding_s = resident_bytes(), 0.0
    for transaction in transactions(count):
        began_s = time.process_time()
        table.apply(transaction)
        folding_s += time.process_time() - began_s
    gc.collect()
    memory = (resident_bytes() - before) / 2**20
    print(
        f"{len(table)} records of {table.size // len(table)} bytes: {memory:.0f} MiB, {folding_s:.1f} s to fold"
    )


if __name__ == "__main__":
    main()
