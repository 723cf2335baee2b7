import json
import logging
import sys

import pytest
import structlog

from bifrost.cli.logs import configure_logs, hide_bytes, render_json, render_plain
from bifrost.config.secrets import Secret


def plain(**event: object) -> str:
    return render_plain(None, "info", {"timestamp": "T", "level": "info", **event})


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("10.0.0.7:51234", "10.0.0.7:51234"),
        (["a", 1], "\"['a', 1]\""),
        (7, "7"),
        (True, "true"),
        ("", '""'),
        ("two words", '"two words"'),
        ('a"b=c', '"a\\"b=c"'),
        ("a=b", '"a=b"'),
        ("x\nT error forged", '"x\\nT error forged"'),
        ("\x1b[31m\u202e\u2028", '"\\u001b[31m\\u202e\\u2028"'),
        ("ä", '"\\u00e4"'),
        (Secret(b"hunter2"), "Secret(***)"),
    ],
)
def test_a_plain_value_stays_on_its_line_and_in_its_quotes(value: object, shown: str) -> None:
    assert plain(event="e", key=value) == f"T info e key={shown}"


def test_a_plain_line_leaves_out_what_has_no_value() -> None:
    assert plain(event="ended", tenant=None, peer="p") == "T info ended peer=p"
    assert plain(event="a\nb") == "T info a\\nb"


def test_a_trace_follows_indented() -> None:
    line = plain(event="bug", exception="Traceback:\n  here\nT info forged\r\x1b[0m")

    assert line.split("\n") == [
        "T info bug",
        "    Traceback:",
        "      here",
        "    T info forged",
        "    \\u001b[0m",
    ]


def test_json_is_one_line_of_ascii() -> None:
    line = render_json(
        None, "info", {"event": "e", "text": "ä\n\u2028", "secret": Secret(b"x"), "none": None}
    )

    assert line.isascii()
    assert "\n" not in line
    assert json.loads(line) == {"event": "e", "text": "ä\n\u2028", "secret": "Secret(***)", "none": None}


def test_bytes_are_shown_by_their_number() -> None:
    event = {"a": b"hunter2", "b": memoryview(b"xy"), "c": bytearray(3), "d": "text"}

    assert hide_bytes(None, "info", event) == {
        "a": "<7 bytes>",
        "b": "<2 bytes>",
        "c": "<3 bytes>",
        "d": "text",
    }


def test_events_below_the_level_are_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(as_json=False, level="warning")
    log = structlog.get_logger()

    log.info("quiet")
    log.warning("loud", token=b"hunter2")

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith(' warning loud token="<7 bytes>"\n')
    assert captured.err.count("\n") == 1


def test_an_exception_shows_its_trace_without_local_values(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(as_json=True, level="info")

    def fail(password: str) -> None:
        raise AssertionError("impossible")

    try:
        fail("hunter" + str(2))
    except AssertionError:
        structlog.get_logger().exception("internal_error")

    event = json.loads(capsys.readouterr().err)
    assert event["level"] == "error"
    assert event["exception"].endswith("AssertionError: impossible")
    assert "hunter2" not in event["exception"]


def test_what_other_libraries_log_takes_the_same_way(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(as_json=True, level="info")

    logging.getLogger("asyncio").debug("too much")
    logging.getLogger("asyncio").error("Task %s was %s", 7, "lost\n")

    event = json.loads(capsys.readouterr().err)
    assert (event["event"], event["level"], event["logger"]) == ("Task 7 was lost\n", "error", "asyncio")


def test_a_reader_that_went_away_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts: list[str] = []

    class Gone:
        def write(self, text: str) -> None:
            attempts.append(text)
            raise BrokenPipeError

    configure_logs(as_json=False, level="info")
    monkeypatch.setattr(sys, "stderr", Gone())

    structlog.get_logger().error("unheard")
    logging.getLogger("asyncio").error("unheard")

    assert len(attempts) == 2


def test_configuring_leaves_rich_importable() -> None:
    configure_logs(as_json=False, level="info")

    import rich

    assert sys.modules["rich"] is rich
