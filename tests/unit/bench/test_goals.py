import pytest
from bench import goals
from bench.__main__ import PAGE
from bench.goals import Goal, as_markdown, judge, kept_in
from bench.page import DOCS, between
from bench.stalls import kept_rows
from bench.table import Table


def _table(title: str, row: str, protocol: str = "PLAINTEXT", **values: list[float]) -> Table:
    return Table(title, protocol, "", 1, rows={row: dict(values)})


def test_cost_is_compared_with_the_relay_s_of_the_same_round() -> None:
    table = _table(goals.BULK_CPU, "produce v9", haproxy=[1.0, 2.0, 4.0], gateway=[1.0, 3.0, 4.0])

    assert [(one.reached, one.limit, one.is_kept) for one in judge([table], 2)] == [(1.0, 1.1, True)]


def test_consuming_may_cost_less_than_producing_and_tls_more() -> None:
    tables = [
        _table(goals.BULK_CPU, "consume v12", haproxy=[1.0], gateway=[1.05]),
        _table(goals.BULK_CPU, "consume v12", "TLS", haproxy=[1.0], gateway=[1.25]),
    ]

    assert [(one.limit, one.is_kept) for one in judge(tables, 2)] == [(1.0, False), (1.3, True)]


def test_a_small_request_has_two_goals() -> None:
    table = _table(goals.PIPELINED_CPU, "Heartbeat v4", relay=[18.0], gateway=[19.0])

    assert [one.is_kept for one in judge([table], 2)] == [True, True]


def test_real_clients_have_goals_by_requests_not_by_bytes() -> None:
    by_bytes = _table(f"{goals.BULK_CPU}, real clients", "librdkafka producer", haproxy=[1.0], gateway=[9.0])
    by_requests = _table(goals.CLIENT_CPU, "Java producer", haproxy=[10.0], gateway=[12.0])

    assert judge([by_bytes], 2) == []
    assert [(one.what, one.limit, one.is_kept) for one in judge([by_requests], 2)] == [
        ("CPU per request of a real client, Java producer, PLAINTEXT", 1.1, False)
    ]


def test_what_the_gateway_answers_itself_may_cost_a_little_more() -> None:
    table = _table(goals.SYNCHRONOUS_CPU, "ApiVersions v4", haproxy=[10.0], gateway=[11.5])

    assert [(one.limit, one.is_kept) for one in judge([table], 2)] == [(1.2, True)]


def test_throughput_is_judged_where_a_core_is_free_for_the_gateway() -> None:
    table = _table(goals.THROUGHPUT, "produce v9", direct=[100.0], gateway=[96.0])

    assert judge([table], 2) == []
    assert [one.is_kept for one in judge([table], 4)] == [False]


def test_the_latency_added_is_that_beyond_the_relay_s() -> None:
    rows = {
        "Produce v9, p50": {"haproxy": [100.0], "gateway": [114.0]},
        "Produce v9, p99": {"haproxy": [100.0], "gateway": [900.0]},
    }
    table = Table(goals.ROUND_TRIP, "PLAINTEXT", "µs", 0, rows=rows)

    assert [(one.reached, one.is_kept) for one in judge([table], 2)] == [(14.0, True)]


def test_memory_has_limits_of_its_own() -> None:
    tables = [
        _table(goals.MEMORY, goals.WORKING, gateway=[51.0]),
        _table(goals.MEMORY, "peak", gateway=[500.0]),
        _table(goals.IDLE_MEMORY, goals.CONNECTED, gateway=[11.0]),
    ]

    assert [one.is_kept for one in judge(tables, 2)] == [False, True]


def test_a_goal_says_what_was_reached_and_what_should_be() -> None:
    assert str(Goal("throughput", 0.9, 0.97, "of direct", is_least=True)) == (
        "throughput: 0.90 of direct, the goal is ≥ 0.97"
    )


def test_a_page_shows_every_goal_and_which_were_missed() -> None:
    found = [
        Goal("resident", 45.8, goals.WORKING_MIB, "MiB"),
        Goal("throughput", 0.9, 0.97, "of direct", is_least=True),
    ]

    assert as_markdown(found).splitlines()[2:] == [
        "| resident | 45.80 | ≤ 47.7 | MiB |",
        "| throughput | **0.90** | ≥ 0.97 | of direct |",
    ]


def test_tails_are_judged_with_any_number_of_tenants() -> None:
    ways = {"haproxy": [2.0, 4.0], "gateway": [3.0, 3.5], "gateway, 10,000 tenants": [4.5, 5.5]}
    table = Table(
        f"{goals.END_TO_END} at 1,000 records/s", "PLAINTEXT", "ms", 2, rows={"p99": ways, "p50": ways}
    )

    found = judge([table], 2)

    assert [(one.reached, one.limit, one.is_kept) for one in found] == [(0.25, 1.0, True), (2.0, 1.0, False)]


def test_tls_has_its_own_limits_for_idle_connections_and_round_trips() -> None:
    tables = [
        _table(goals.IDLE_MEMORY, "idle", "TLS", gateway=[17.0]),
        _table(goals.ROUND_TRIP, "Produce v9, p50", "TLS", haproxy=[100.0], gateway=[112.0]),
        _table(goals.SYNCHRONOUS_CPU, "Produce v9", haproxy=[10.0], gateway=[10.5]),
    ]

    assert [one.is_kept for one in judge(tables, 2)] == [True, False, True]


def test_what_a_table_says_is_kept_is_a_gate_and_what_is_missed_there_is_none() -> None:
    goals_of_a_run = [
        Goal("CPU, a", 1.0, 1.1, "of the relay's"),
        Goal("CPU, a", 21.0, 20.0, "µs"),
        Goal("p99, b", 2.0, 1.0, "ms"),
        Goal("throughput, c", 0.98, 0.97, "of direct", is_least=True),
    ]

    assert kept_in(as_markdown(goals_of_a_run)) == {
        ("CPU, a", "of the relay's"),
        ("throughput, c", "of direct"),
    }


def test_the_page_of_figures_has_gates() -> None:
    page = (DOCS / PAGE).read_text("utf-8")

    assert len(kept_in(between(page, "figures"))) > 20


def test_rows_of_stalls_without_a_miss_are_gates() -> None:
    page = (DOCS / PAGE).read_text("utf-8")
    rows = kept_rows(between(page, "stalls"))

    assert ("1", "watch of files") in rows
    assert ("10,000", "reload") not in rows
    assert len(rows) > 10


@pytest.mark.parametrize("section", ["single-address", "virtual"])
def test_each_section_with_goals_has_gates(section: str) -> None:
    page = (DOCS / PAGE).read_text("utf-8")

    assert len(kept_in(between(page, section))) >= 5
