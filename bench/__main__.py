"""`make bench`: everything in one run, on one embedded Kafka.

The rounds of the subjects alternate (direct, relay, gateway, direct, ...), because a machine's speed drifts; what is
compared stood side by side. CPU time is that of the process in between, user and system.
"""

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.measure import Sample, measure_round_trips, measure_throughput
from bench.memory import measure_idle, measure_working, raise_descriptor_limit
from bench.real_clients import measure_consumer, measure_producer
from bench.report import CONSUME_LIMIT_S_PER_GIB, PRODUCE_LIMIT_S_PER_GIB, REQUEST_LIMIT_US, Report, Row
from bench.subjects import Subject, all_subjects, run_gateway
from bench.workloads import Topics, bulk_workloads, small_workloads
from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey

READ_MIB = 256
NOT_IN_PLACE = frozenset({ApiKey.METADATA})
"""Decoded for its addresses; a client asks for it every five minutes, so the limit for requests is not for it."""
BROKER_PROPERTIES = {"log.retention.check.interval.ms": "1000"}
BROKER_JAVA_OPTIONS = ("-XX:-UsePerfData",)
"""A broker as it is run in earnest: the full compiler and the usual collector."""


def main() -> int:
    """Measure, print, and judge if asked to."""
    options = _options()
    raise_descriptor_limit()
    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
    )
    print(f"load before: {os.getloadavg()[0]:.1f} (the figures are best taken near 0)")
    with (
        tempfile.TemporaryDirectory(prefix="bifrost-bench-") as directory,
        EmbeddedKafka(heap_mb=1024, properties=BROKER_PROPERTIES, java_options=BROKER_JAVA_OPTIONS) as kafka,
        all_subjects(kafka, Path(directory)) as subjects,
    ):
        report = _measure(kafka, subjects, Path(directory), options)
    print(f"\nload after: {os.getloadavg()[0]:.1f}")
    for one in report.missed:
        print(f"missed  {one}")
    if not report.missed:
        print("every limit is kept")
    return 1 if options.check and report.missed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="about half a minute instead of three and a half"
    )
    parser.add_argument("--check", action="store_true", help="exit with status 1 when a limit is missed")
    parser.add_argument(
        "--only", choices=["bulk", "small", "clients", "memory", "journal"], help="a part of it"
    )
    return parser.parse_args()


def _measure(
    kafka: EmbeddedKafka, subjects: list[Subject], directory: Path, options: argparse.Namespace
) -> Report:
    gateway = subjects[-1]
    topics = Topics(gateway, READ_MIB)
    report = Report()
    rounds = 2 if options.quick else 4

    def wanted(part: str) -> bool:
        return options.only in (None, part)

    if wanted("bulk"):
        seconds = 0.4 if options.quick else 1.2
        rows = []
        for workload in bulk_workloads(topics):
            limit = PRODUCE_LIMIT_S_PER_GIB if workload.bytes_per_request else CONSUME_LIMIT_S_PER_GIB
            row = Row(workload.name, limit)
            _alternate(row, subjects, rounds, lambda one, w=workload: measure_throughput(one, w, seconds))
            rows.append(row)
        report.bulk("large frames", rows)
    if wanted("small"):
        _measure_small(report, subjects, topics, rounds, 0.25 if options.quick else 0.6, options.quick)
    if wanted("clients"):
        _measure_clients(report, subjects, topics, 64 if options.quick else 256, 1 if options.quick else 3)
    if wanted("memory"):
        with run_gateway(directory / "idle", kafka) as fresh:
            memory = measure_idle(fresh)
        measure_working(gateway, topics, memory)
        report.memory(memory)
    if options.only == "journal":
        with run_gateway(directory / "journal", kafka, has_journal=True) as journalling:
            _measure_journal(report, [gateway, journalling], topics, 9)
    return report


def _measure_journal(report: Report, subjects: list[Subject], topics: Topics, rounds: int) -> None:
    """Measure what the journal costs: the same requests by turns through a gateway without and with it."""
    large, small = [], []
    for workload in bulk_workloads(topics):
        row = Row(workload.name, None)
        _alternate(row, subjects, rounds, lambda one, w=workload: measure_throughput(one, w, 0.5))
        large.append((workload.name, [row.bulk_cpu(one.name) for one in subjects]))
    for workload in small_workloads(topics):
        row = Row(workload.name, None)
        _alternate(row, subjects, rounds, lambda one, w=workload: measure_throughput(one, w, 0.3))
        small.append((workload.name, [row.request_cpu(one.name) for one in subjects]))
    report.journal("CPU s/GiB", large)
    report.journal("CPU us/request", small)


def _measure_small(
    report: Report, subjects: list[Subject], topics: Topics, rounds: int, seconds: float, is_quick: bool
) -> None:
    one_by_one, pipelined = [], []
    for workload in small_workloads(topics):
        limit = None if workload.api_key in NOT_IN_PLACE else REQUEST_LIMIT_US
        row = Row(workload.name, limit)
        _alternate(row, subjects, rounds, lambda one, w=workload: measure_round_trips(one, w, seconds))
        one_by_one.append(row)
        if not is_quick:
            row = Row(workload.name, limit)
            _alternate(row, subjects, rounds, lambda one, w=workload: measure_throughput(one, w, seconds))
            pipelined.append(row)
    report.requests("small requests, one connection, each after the answer to the last", one_by_one)
    if pipelined:
        report.requests("small requests, four connections with five in flight on each", pipelined)


def _measure_clients(report: Report, subjects: list[Subject], topics: Topics, mib: int, rounds: int) -> None:
    # Not through the relays: a real client follows the addresses in the metadata, past them.
    ways = [subjects[0], subjects[-1]]
    producer, consumer = Row("librdkafka producer", None), Row("librdkafka consumer", None)
    _alternate(producer, ways, rounds, lambda one: measure_producer(one, mib))
    _alternate(consumer, ways, rounds, lambda one: measure_consumer(one, topics))
    report.bulk("real clients", [producer, consumer])


def _alternate(row: Row, subjects: list[Subject], rounds: int, measure: Callable[[Subject], Sample]) -> None:
    for _ in range(rounds):
        for subject in subjects:
            row.rounds.setdefault(subject.name, []).append(measure(subject))


if __name__ == "__main__":
    sys.exit(main())
