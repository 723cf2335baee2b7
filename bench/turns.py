"""What a setting of the gateway costs: the same requests by turns through a gateway without it and with it."""

import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from bench.certificates import make_certificate
from bench.kafka import BenchKafka
from bench.laboratory import Laboratory, free_port
from bench.machine import Machine
from bench.measure import measure_throughput
from bench.memory import raise_descriptor_limit
from bench.percentiles import spread
from bench.subjects import Subject
from bench.table import Table
from bench.topics import Topics
from bench.workloads import bulk_workloads, small_workloads

ROUNDS, BULK_S, SMALL_S = 15, 0.5, 0.3
READ_MIB = 256

Start = Callable[[Laboratory], AbstractContextManager[list[Subject]]]
"""Starts a gateway."""


def compare(with_it: Start, rounds: int = ROUNDS) -> tuple[float, str]:
    """Measure the CPU time of both gateways, and print it with the ratios, round by round.

    Returns:
        The mean of the ratios' medians, and what was printed, for a page.
    """
    raise_descriptor_limit()
    machine = Machine.now()
    print(machine)
    large = Table("CPU of the gateway", "PLAINTEXT", "s/GiB", 2)
    small = Table("CPU of the gateway", "PLAINTEXT", "us/request", 1)
    with ExitStack() as running:
        directory = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="bifrost-bench-")))
        certificate = make_certificate(directory)
        kafka = running.enter_context(BenchKafka(certificate, free_port()))
        laboratory = Laboratory.of(kafka, certificate, directory)
        first, _ = running.enter_context(laboratory.gateway())
        second, _ = running.enter_context(with_it(laboratory))
        topics = Topics(READ_MIB)
        topics.make([*laboratory.direct(), first, second])
        for number in range(rounds):
            # The one that goes first changes: a machine that slows down is not to count for one of them.
            for subject in (first, second) if number % 2 == 0 else (second, first):
                for one in bulk_workloads(topics):
                    cost = measure_throughput(subject, one, BULK_S).cpu_s_per_gib
                    large.add(one.name, subject.name, cost)
                for one in small_workloads(topics):
                    cost = measure_throughput(subject, one, SMALL_S).cpu_us_per_request
                    small.add(one.name, subject.name, cost)
    ratio = Table("CPU with it to CPU without, round by round", "PLAINTEXT", "ratio", 2)
    for table in (large, small):
        for row, values in table.rows.items():
            for without, with_value in zip(values[first.name], values[second.name], strict=True):
                ratio.add(row, "ratio", with_value / without)
    for table in (large, small, ratio):
        print(f"\n{table.as_text()}")
    medians = [spread(values["ratio"]).median for values in ratio.rows.values()]
    mean = sum(medians) / len(medians)
    machine = machine.after()
    print(f"\nmean of the medians: {mean:.3f}\n\n{machine.load}")
    tables = [one.as_markdown() for one in (large, small, ratio)]
    return mean, "\n\n".join(
        [f"{machine}. {machine.load}.", *tables, f"The mean of the ratios' medians is {mean:.3f}."]
    )
