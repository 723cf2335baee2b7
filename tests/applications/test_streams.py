"""Kafka Streams' word count with exactly_once_v2, under the same application ID at three clusters at once.

The example emits every change of a count, so exactly once means that each word's counts are 1, 2, 3 and so on, none
missing and none twice, also when the application was killed in between.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from pathlib import Path

import pytest

from support.clients.endpoint import Endpoint
from support.java.streams_app import INPUT, OUTPUT, WordCount
from support.journal.records import read_committed, write_values
from support.pages.console import CONSUMER_GROUPS, GROUPS, STREAMS_GROUPS, TOPICS, Console, play_everywhere

PARTITIONS = 2
COUNTED_S = 60.0
OFFSETS = ("CURRENT-OFFSET", "LOG-END-OFFSET", "OFFSET-LAG", "LAG")
"""They differ by world: where a word goes depends on its hash, and one of the words is the world's name."""
LINES = [f"line {number} all streams lead to kafka {'hello ' * (number % 3)}" for number in range(40)]

EPOCHS = ("GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH", "MEMBER-EPOCH")


@pytest.mark.timeout(240)
@pytest.mark.parametrize("protocol", ["classic", "streams"])
def test_word_count_exactly_once(
    consoles: list[Console], endpoints: dict[str, Endpoint], tmp_path: Path, protocol: str
) -> None:
    application_id = f"word-count-{protocol}"
    play_everywhere(make_topics, consoles)

    with contextlib.ExitStack() as stack:
        applications = []
        for owner, endpoint in endpoints.items():
            directory = tmp_path / owner
            directory.mkdir()
            application = WordCount(endpoint, application_id, protocol, directory)
            applications.append(stack.enter_context(application))
            write(endpoint, owner, LINES[:20])
            application.start()
        for owner, endpoint in endpoints.items():
            await_counts(endpoint, owner, LINES[:20])

        for application in applications:
            application.kill()
        for (owner, endpoint), application in zip(endpoints.items(), applications, strict=True):
            write(endpoint, owner, LINES[20:])
            application.lose_state()
            application.start()
        for owner, endpoint in endpoints.items():
            await_counts(endpoint, owner, LINES)

        play_everywhere(describe_classic if protocol == "classic" else describe_streams, consoles)
        for application in applications:
            application.stop()
    if protocol == "streams":
        play_everywhere(delete_streams_group, consoles)
    play_everywhere(delete_topics, consoles)


def make_topics(console: Console) -> None:
    for topic in (INPUT, OUTPUT):
        console(TOPICS, "--create", "--topic", topic, "--partitions", str(PARTITIONS))


def delete_topics(console: Console) -> None:
    console(TOPICS, "--delete", "--topic", f"{INPUT}|{OUTPUT}|word-count-.*")
    for text in (INPUT, OUTPUT, "word-count"):
        console.until_gone(text, TOPICS, "--list")


def describe_classic(console: Console) -> None:
    group = "word-count-classic"
    console(CONSUMER_GROUPS, "--describe", "--group", group, "--state", prints="stream Stable 1")
    console(CONSUMER_GROUPS, "--describe", "--group", group, made_up=OFFSETS, prints=f"{group} {INPUT} 0")
    console(GROUPS, "--list", prints=f"{group} Classic consumer")
    console(TOPICS, "--describe", "--topic", f"{group}-.*", prints="-changelog")


def describe_streams(console: Console) -> None:
    group = "word-count-streams"
    describe = ["--describe", "--group", group]
    console(STREAMS_GROUPS, "--list", prints=group)
    console(STREAMS_GROUPS, *describe, "--state", "--verbose", made_up=EPOCHS, prints="Stable")
    console(STREAMS_GROUPS, *describe, "--members", "--verbose", made_up=EPOCHS, prints="ACTIVE")
    console(STREAMS_GROUPS, *describe, made_up=OFFSETS, prints=INPUT)
    console(GROUPS, "--list", "--streams", prints=f"{group} Streams streams")
    console(TOPICS, "--describe", "--topic", f"{group}-.*", prints="-changelog")


def delete_streams_group(console: Console) -> None:
    group = "word-count-streams"
    reset = ["--reset-offsets", "--group", group, "--all-input-topics", "--to-earliest"]
    console(STREAMS_GROUPS, *reset, "--dry-run", prints=f"{INPUT} 0 0")
    console(STREAMS_GROUPS, *reset, "--execute", prints=f"{INPUT} 1 0")
    console(STREAMS_GROUPS, "--delete-offsets", "--group", group, "--input-topic", INPUT, prints="Successful")
    console(STREAMS_GROUPS, "--delete", "--group", group, prints="was successful")
    console.until_gone(group, STREAMS_GROUPS, "--list")


def write(endpoint: Endpoint, owner: str, lines: list[str]) -> None:
    write_values(endpoint, INPUT, [f"{owner} {line}".encode() for line in lines])


def await_counts(endpoint: Endpoint, owner: str, lines: list[str]) -> None:
    """Wait until every word was counted, and check that each was, and once."""
    words = Counter(word for line in lines for word in f"{owner} {line}".split())
    deadline = time.monotonic() + COUNTED_S
    while len(emitted := read_committed(endpoint, OUTPUT)) < words.total():
        assert time.monotonic() < deadline, (
            f"{owner}: {len(emitted)} of {words.total()} counts after {COUNTED_S} s"
        )
        time.sleep(0.2)
    counts: dict[str, list[int]] = {}
    for key, value in emitted:
        counts.setdefault(key.decode(), []).append(int.from_bytes(value, "big"))
    assert counts == {word: list(range(1, times + 1)) for word, times in words.items()}
