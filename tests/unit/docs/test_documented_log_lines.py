"""docs/operations.md explains every line that the gateway logs, every key of these lines, and no others."""

import ast

from bifrost.session.close_reason import CloseReason
from support.pages.doc_pages import page, spans, table
from support.pages.source_facts import log_keys, log_lines, trees


def test_every_event_is_explained_and_no_other() -> None:
    logged = log_lines().keys()
    documented = table(page("operations.md"), "event").names()

    assert {"connection_ended", "internal_error", "worker_died", "jwks_fetched"} <= logged
    assert len(documented) == len(set(documented))
    assert set(documented) == logged


def test_every_key_is_explained_and_no_other() -> None:
    keys = log_keys()
    documented = table(page("operations.md"), "key").names()

    assert {"peer", "retry_in_s", "served_s", "stands_for", "exception"} <= keys
    assert len(documented) == len(set(documented))
    assert set(documented) == keys


def test_every_key_that_an_explanation_names_is_one_of_that_event() -> None:
    lines = log_lines()
    keys = log_keys()
    explained = table(page("operations.md"), "event").rows

    wrong = {
        (events, key)
        for events, *texts in explained
        for key in {one for text in texts for one in spans(text)} & keys
        if not any(key in lines[event] for event in spans(events))
    }

    assert wrong == set()


def test_every_end_of_a_connection_is_explained_and_no_other() -> None:
    documented = table(page("operations.md"), "reason").names()

    assert "frame_too_large" in documented
    assert len(documented) == len(set(documented))
    assert set(documented) == set(CloseReason)


def test_every_module_that_logs_is_read() -> None:
    """The log is called `log` everywhere, or its lines would be missed here."""
    loggers = [
        (path, ast.unparse(node))
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and "get_logger()" in ast.unparse(node.value)
    ]

    assert len(loggers) > 20
    rooms = ("gateway/", "control/", "keys/")
    assert {text for path, text in loggers if path.startswith(rooms)} == {"log = structlog.get_logger()"}
    assert [path for path, _ in loggers if not path.startswith(rooms)] == []
