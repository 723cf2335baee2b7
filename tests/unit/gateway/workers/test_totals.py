"""What all workers have counted together."""

import os
from collections import Counter
from types import SimpleNamespace
from typing import Any

from prometheus_client import ProcessCollector

from bifrost.config.model import Config
from bifrost.filters.records.transform_meter import TransformKey
from bifrost.forwarding.traffic import TRAFFIC_CELLS, Traffic
from bifrost.gateway.admin.counted import JournalCounts, WorkerCounts
from bifrost.gateway.admin.metrics import Metrics
from bifrost.gateway.exchange.exchange_counts import NO_SHARE, ExchangeCounts
from bifrost.gateway.loop.loop_guard import InternalErrors
from bifrost.gateway.loop.loop_stalls import EVER, RECENT, STALL_CELLS, LoopStalls
from bifrost.gateway.loop.steps import at_once
from bifrost.gateway.sockets.listener_watch import ListenerWatch
from bifrost.gateway.state.state_counts import StateCounts
from bifrost.gateway.workers.shared_counters import (
    SharedCounter,
    SharedCounters,
    SharedCountersReader,
    new_shared_counters,
)
from bifrost.gateway.workers.shared_limits import BUFFERED_BYTES, SPARE_BYTES, Places, SharedLimits
from bifrost.gateway.workers.totals import OfAll, Processes, Sums
from bifrost.journal.record import RecordKind
from bifrost.journal.record_buffer import DropReason
from bifrost.session.close_reason import CloseReason
from unit.gateway.test_gateway import CONFIG


class Worker:
    """One that counts."""

    def __init__(self, sums: Sums) -> None:
        fd = new_shared_counters()
        self.counters, self.reader = SharedCounters(fd), SharedCountersReader(fd)
        sums.add(self.reader)
        self.traffic = Traffic(self.counters.cells(("traffic", "acme", 1), TRAFFIC_CELLS))

    def counter(self, name: str) -> Counter[Any]:
        return SharedCounter(self.counters, name)


def of_all(sums: Sums, **more: Any) -> OfAll:
    shared_limits, places = SharedLimits.create(2), Places()
    places.add(iter(["", "acme", "globex"]))
    known = {
        "shared_limits": shared_limits,
        "stalls": LoopStalls(),
        "places": places,
        "config": Config.model_validate(CONFIG),
        "is_ready": True,
        "refused": Counter(),
        "reloader": None,
        "count_open": lambda: 5,
        "worker_counts": lambda: [WorkerCounts(0, True, 2, 5, 1.5)],
        "internal_errors": InternalErrors(Counter(accept=1)),
        "listener_watch": ListenerWatch(list),
    }
    supervisor: Any = SimpleNamespace(**known | more)
    return OfAll(supervisor, sums)


def test_counters_add_up_and_what_the_dead_have_counted_stays() -> None:
    sums = Sums()
    one, other = Worker(sums), Worker(sums)
    one.traffic.receive(100)
    other.traffic.receive(10)
    counted = of_all(sums)

    sums.refresh()
    before = [(tenant, key, each.requests, each.bytes_received) for tenant, key, each in counted.traffic()]
    one.traffic.receive(1000)
    sums.bury(one.reader)
    third = Worker(sums)
    third.traffic.receive(1)
    sums.refresh()

    assert before == [("acme", 1, 2, 110)]
    [(_, _, after)] = counted.traffic()
    assert (after.requests, after.bytes_received) == (4, 1111)
    assert (after.bytes_sent, after.duration_ns, sum(after.durations)) == (0, 0, 0)


def test_what_the_living_say_of_brokers_is_no_sum() -> None:
    sums = Sums()
    one, other = Worker(sums), Worker(sums)
    for worker, brokers in ((one, 2), (other, 3)):
        worker.counter("brokers")["upstream"] = brokers
        worker.counter("answering")["upstream"] = int(worker is one)
    other.counter("brokers")["gone"] = -1
    sums.refresh()
    assert list(of_all(sums).upstreams()) == [("upstream", 3, True)]

    sums.bury(one.reader)
    sums.bury(other.reader)
    sums.refresh()

    assert list(of_all(sums).upstreams()) == []


def test_connections_to_brokers_are_those_of_running_workers() -> None:
    sums = Sums()
    one, other = Worker(sums), Worker(sums)
    for worker, count in ((one, 2), (other, 3)):
        worker.counter("broker_connections")["upstream"] = count
    sums.refresh()
    assert list(of_all(sums).broker_connections()) == [("upstream", 5)]

    sums.bury(one.reader)
    sums.refresh()

    assert list(of_all(sums).broker_connections()) == [("upstream", 3)]


def test_bytes_that_are_kept_are_those_of_running_workers() -> None:
    sums = Sums()
    one, other = Worker(sums), Worker(sums)
    for worker, count in ((one, 20), (other, 30)):
        worker.counter("recent_bytes")["acme"] = count
    sums.refresh()
    assert list(of_all(sums).recent_bytes()) == [("acme", 50)]

    sums.bury(one.reader)
    sums.refresh()

    assert list(of_all(sums).recent_bytes()) == [("acme", 30)]


def test_a_used_limit_is_that_of_the_running_worker_that_has_most() -> None:
    sums = Sums()
    one, other = Worker(sums), Worker(sums)
    for worker, part in ((one, 900_000), (other, 250_000)):
        worker.counter("used_limits")["acme", "max_groups"] = part
        worker.counter("used_limits")["acme", "max_producers"] = 0
    sums.refresh()
    assert list(of_all(sums).used_limits()) == [("acme", "max_groups", 0.9)]

    sums.bury(one.reader)
    sums.refresh()

    assert list(of_all(sums).used_limits()) == [("acme", "max_groups", 0.25)]


def test_connections_that_the_supervisor_refused_count() -> None:
    sums = Sums()
    worker = Worker(sums)
    worker.counter("ends")[CloseReason.IDLE] = 2
    worker.counter("limits_hit")["max_connections", "acme"] = 3
    worker.counter("waits")["max_in_flight_requests", "acme"] = 4
    worker.counter("authentications")["acme", "PLAIN", "success"] = 5
    worker.counter("pauses")["client"] = 2_000_000_000
    worker.counter("internal_errors")["refresh"] = 6
    worker.counter("acl_denials")["acme", "READ"] = 7
    worker.counter("virtual_partitions")["acme", "parts"] = 9
    worker.counter("transforms")[TransformKey("acme", "edge", "fetch", "records")] += 8
    sums.refresh()
    refused = Counter({CloseReason.TOO_MANY_CONNECTIONS: 7, CloseReason.NO_WORKER: 1})
    counted = of_all(sums, refused=refused)

    assert counted.ends() == {CloseReason.IDLE: 2} | refused
    assert dict(counted.limits_hit()) == {
        ("max_connections", "acme"): 3,
        ("max_connections", ""): 7,
        ("max_in_flight_requests", "acme"): 4,
    }
    assert counted.acl_denials() == {("acme", "READ"): 7}
    assert list(counted.partitions()) == [(("acme", "parts"), 9)]
    assert list(counted.transforms()) == [(("acme", "edge", "fetch", "records"), 8)]
    assert counted.authentications() == {("acme", "PLAIN", "success"): 5}
    assert list(counted.mechanisms) == ["PLAIN"]
    assert (counted.paused_s("client"), counted.paused_s("broker")) == (2, 0)
    assert counted.internal_errors() == {"accept": 1, "refresh": 6}
    assert counted.listener_watch.listeners() == []


def test_open_connections_and_memory_of_all_workers_are_added_up() -> None:
    sums = Sums()
    worker = Worker(sums)
    counted = of_all(sums)
    shared_limits = counted._supervisor.shared_limits
    shared_limits.note_connections(0, 2, 2)
    shared_limits.note_connections(1, 2, 1)
    for number in range(2):
        shared_limits.pulse(number)[SPARE_BYTES] = 100
        shared_limits.pulse(number)[BUFFERED_BYTES] = 1_000
    worker.traffic.receive(1)
    sums.refresh()

    assert counted.connections() == {"acme": 3, "": 2}
    shared_limits.note_connections(0, 2, 0)
    shared_limits.note_connections(1, 2, 0)
    assert counted.connections() == {"acme": 0, "": 5}
    assert list(counted.in_flight()) == [("acme", 0)]
    assert counted.spare_bytes() == 200
    assert counted.buffered_bytes() == 2_000
    assert (counted.is_ready, counted.max_connections, counted.reloader) == (True, 2, None)


def test_the_metrics_of_all_are_those_of_one_and_tell_of_the_workers() -> None:
    sums = Sums()
    Worker(sums).traffic.receive(8)
    sums.refresh()
    processes = Processes(lambda: [os.getpid(), os.getpid()], lambda: 1000.0)

    text = at_once(Metrics(of_all(sums), processes).exposition()).decode()

    assert 'kafka_proxy_requests_total{api="Fetch",tenant="acme"} 1.0' in text
    assert 'kafka_proxy_worker_connections{worker="0"} 5.0' in text
    assert 'kafka_proxy_worker_starts_total{worker="0"} 2.0' in text
    assert 'kafka_proxy_worker_cpu_seconds_total{worker="0"} 1.5' in text
    assert 'kafka_proxy_worker_up{worker="0"} 1.0' in text


def test_the_journal_of_all_adds_up_and_is_up_while_that_of_each_is() -> None:
    sums = Sums()
    one, other = Worker(sums), Worker(sums)
    for worker, size in ((one, 100), (other, 10)):
        worker.counter("journal_dropped")["acme", RecordKind.EVENT, DropReason.EVENT_LIMIT] += 2
        worker.counter("journal_folded")["acme"] += 1
        worker.counter("journal_written")["records"] += 5
        state = worker.counter("journal_state")
        state["buffer_bytes"], state["usage_rows"], state["is_up"] = size, 3, int(worker is one)
    config = Config.model_validate({**CONFIG, "proxy": {**CONFIG["proxy"], "journal": {}}})
    counted = of_all(sums, config=config)
    sums.refresh()

    dropped = {("acme", "event", "event_limit"): 4}
    assert counted.journal() == JournalCounts(dropped, {"acme": 2}, 10, 110, 6, is_up=False)
    sums.bury(other.reader)
    sums.refresh()
    assert counted.journal() == JournalCounts(dropped, {"acme": 2}, 10, 100, 3, is_up=True)
    sums.bury(one.reader)
    sums.refresh()
    assert counted.journal() == JournalCounts(dropped, {"acme": 2}, 10, 0, 0, is_up=False)
    assert of_all(sums).journal() is None


def test_the_state_of_all_is_the_worst_of_any_worker() -> None:
    sums = Sums()
    one, other = Worker(sums), Worker(sums)
    for worker, lag in ((one, 0), (other, 5)):
        worker.counter("state_ignored")["records"] += 2
        worker.counter("state_changes")["acme", "done"] += 3
        worker.counter("state_attempts")["fenced"] += 1
        worker.counter("state_times_us")["change"] += 250_000
        state = worker.counter("state")
        state["records"], state["bytes"], state["lag"], state["is_up"] = 10 - lag, 100, lag, int(not lag)
        state["waiting"] = 1
        state["kind:acl"] = 3 + lag
    counted = of_all(
        sums, config=Config.model_validate({**CONFIG, "proxy": {**CONFIG["proxy"], "state": {}}})
    )
    sums.refresh()

    sums_of_both = {("acme", "done"): 6}, {"fenced": 2}, 0.5
    assert counted.state() == StateCounts(10, 100, 5, False, 4, 2, *sums_of_both, {"acl": 8})
    sums.bury(other.reader)
    sums.refresh()
    assert counted.state() == StateCounts(10, 100, 0, True, 4, 1, *sums_of_both, {"acl": 3})
    assert of_all(sums).state() is None


def test_processes_are_told_of_together() -> None:
    alone = {metric.name: metric.samples[0].value for metric in ProcessCollector(registry=None).collect()}
    processes = Processes(lambda: [os.getpid(), os.getpid()], lambda: 1000.0)

    found = {metric.name: metric.samples[0].value for metric in processes.collect()}

    assert found["process_start_time_seconds"] == alone["process_start_time_seconds"]
    assert found["process_max_fds"] == alone["process_max_fds"]
    assert found["process_resident_memory_bytes"] > 1.9 * alone["process_resident_memory_bytes"]
    assert 1000 < found["process_cpu_seconds"] < 1000 + 2 * alone["process_cpu_seconds"]
    assert processes.describe() == []


def test_stalls_are_those_of_each_worker_and_of_the_supervisor() -> None:
    sums = Sums()
    worker = Worker(sums)
    counted = of_all(sums)
    shared_limits = counted._supervisor.shared_limits
    counts = worker.counters.cells(("loop_stalls", 1), STALL_CELLS).cast("q")
    marks = shared_limits.stall_marks(1)
    counts[0], counts[4] = 15_000_000, 1
    marks[EVER], marks[RECENT] = 15_000_000, 12_000_000
    sums.refresh()

    first, second = list(counted.loop_stalls()), list(counted.loop_stalls())

    assert [one.worker for one in first] == ["1", "supervisor"]
    assert (first[0].counts[0], sum(first[0].counts[1:])) == (15_000_000, 1)
    assert (first[0].largest_s, second[0].largest_s) == ((0.015, 0.012, 0, 0), (0.015, 0, 0, 0))


def test_the_exchange_of_all_is_that_of_the_worker_that_takes_part() -> None:
    sums = Sums()
    one, other = Worker(sums), Worker(sums)
    for worker, share in ((one, 500_000), (other, 20_000)):
        worker.counter("exchange_records")["written"] += 3
        worker.counter("exchange_shares")["producer_byte_rate", "acme"] = share
        worker.counter("exchange_shares")["request_rate", "gone"] = NO_SHARE
        state = worker.counter("exchange")
        for name, number in (("members", 2), ("budgets", 5), ("is_up", 1), ("lag_ms", 30)):
            state[name] = number if worker is one else 0
    counted = of_all(
        sums, config=Config.model_validate({**CONFIG, "proxy": {**CONFIG["proxy"], "quota_exchange": {}}})
    )
    sums.refresh()

    shares = {("producer_byte_rate", "acme"): 0.02}
    assert counted.exchange() == ExchangeCounts(2, 5, True, 30, {"written": 6}, shares)
    assert of_all(sums).exchange() is None
