from bifrost.control.counts import Counts
from support.control.table_backend import TableBackend


def test_methods_and_routes_that_callers_make_up_are_no_labels() -> None:
    counts = Counts(TableBackend())

    counts.note("GET", "/v1/namespaces", 200, 0.01)
    counts.note("BREW", None, 405, 0.01)
    counts.refuse("rate")

    text = counts.exposition().decode()
    assert 'bifrost_control_requests_total{method="GET",route="/v1/namespaces",status="200"} 1.0' in text
    assert 'bifrost_control_requests_total{method="other",route="other",status="405"} 1.0' in text
    assert 'bifrost_control_refused_total{reason="rate"} 1.0' in text
    assert "BREW" not in text


def test_the_state_is_told_as_it_is_when_it_is_asked() -> None:
    backend = TableBackend()
    counts = Counts(backend)

    assert "bifrost_control_state_up 1.0" in counts.exposition().decode()
    backend.problem, backend.lag = "no broker answers", 3
    text = counts.exposition().decode()
    assert "bifrost_control_state_up 0.0" in text
    assert "bifrost_control_state_lag_offsets 3.0" in text
