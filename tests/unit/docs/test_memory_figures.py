"""What an idle connection takes is the same figure on every page: that of the goals in docs/performance.md, rounded."""

import re

import pytest

from support.pages.doc_pages import page, tables


def measured_kib(state: str, protocol: str) -> float:
    """Return what `make bench` has written into the table of goals."""
    rows = [row for one in tables(page("performance.md")) for row in one.rows]
    [reached] = [row[1] for row in rows if row[0] == f"idle connection, {state}, {protocol}"]
    return float(reached.strip("*"))


TLS, TLS_BROKER = ("idle, connected", "TLS"), ("idle, broker connected", "TLS")
PLAINTEXT, PLAINTEXT_BROKER = ("idle, connected", "PLAINTEXT"), ("idle, broker connected", "PLAINTEXT")


@pytest.mark.parametrize(
    ("name", "says", "states"),
    [
        (
            "tls.md",
            r"(\d+) KiB of memory for an idle connection\ninstead of (\d+) "
            r"\((\d+) instead of (\d+) once its broker is connected",
            (TLS, PLAINTEXT, TLS_BROKER, PLAINTEXT_BROKER),
        ),
        (
            "operations.md",
            r"An idle connection costs [^.]*?to (\d+) after, and (\d+) with a connection to its broker",
            (PLAINTEXT, PLAINTEXT_BROKER),
        ),
        (
            "operations.md",
            r"With TLS it costs (\d+) KiB, and (\d+) with a connection to its broker",
            (TLS, TLS_BROKER),
        ),
        ("performance.md", r"KiB for an idle connection, now (\d+)\.", (TLS,)),
        (
            "performance.md",
            r"an idle connection with TLS \| ([\d.]+) and ([\d.]+) KiB",
            (TLS, TLS_BROKER),
        ),
    ],
)
def test_each_page_has_the_figure_that_was_measured(
    name: str, says: str, states: tuple[tuple[str, str], ...]
) -> None:
    found = re.search(says, page(name))

    assert found is not None
    assert [round(float(one)) for one in found.groups()] == [round(measured_kib(*one)) for one in states]
