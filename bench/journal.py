"""`make bench-journal`: what the journal costs, the same requests by turns through a gateway without and with it."""

import tempfile
from contextlib import ExitStack
from pathlib import Path

from bench.certificates import make_certificate
from bench.kafka import BenchKafka
from bench.laboratory import Laboratory, free_port
from bench.machine import Machine
from bench.measure import measure_throughput
from bench.memory import raise_descriptor_limit
from bench.table import Table
from bench.topics import Topics
from bench.workloads import bulk_workloads, small_workloads

ROUNDS, BULK_S, SMALL_S = 9, 0.5, 0.3
READ_MIB = 256


def main() -> None:
    """Measure and print."""
    raise_descriptor_limit()
    machine = Machine.now()
    print(machine)
    with ExitStack() as running:
        directory = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="bifrost-bench-")))
        certificate = make_certificate(directory)
        laboratory = Laboratory.of(
            running.enter_context(BenchKafka(certificate, free_port())), certificate, directory
        )
        without, _ = running.enter_context(laboratory.gateway())
        with_it, _ = running.enter_context(laboratory.gateway(more="journal: {}"))
        topics = Topics(READ_MIB)
        topics.make([*laboratory.direct(), without, with_it])
        large = Table("CPU of the gateway", "PLAINTEXT", "s/GiB", 2)
        small = Table("CPU of the gateway", "PLAINTEXT", "us/request", 1)
        for _ in range(ROUNDS):
            for subject in (without, with_it):
                for one in bulk_workloads(topics):
                    cost = measure_throughput(subject, one, BULK_S).cpu_s_per_gib
                    large.add(one.name, subject.name, cost)
                for one in small_workloads(topics):
                    cost = measure_throughput(subject, one, SMALL_S).cpu_us_per_request
                    small.add(one.name, subject.name, cost)
    for table in (large, small):
        print(f"\n{table.as_text()}")
    print(f"\n{machine.after().load}")


if __name__ == "__main__":
    main()
