"""`bifrost demo` as a person or a CI job runs it: with Kafka, the gateway and two tenants, from start to end."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import yaml
from confluent_kafka import Producer

from bifrost.embedded.demo.ledger import Order

ALTERNATE_SCREEN, ORDINARY_SCREEN = "\x1b[?1049h", "\x1b[?1049l"
COMMAND = [sys.executable, "-m", "bifrost.cli.main", "demo"]


@pytest.fixture
def own_temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory for temporary files of its own, and the check that nothing is left in it, nor any process."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    yield tmp_path
    assert list(tmp_path.iterdir()) == []
    left = [
        p.cmdline() for p in psutil.Process().children(recursive=True) if str(tmp_path) in str(p.cmdline())
    ]
    assert left == []


@pytest.mark.usefixtures("own_temporary")
def test_ends_by_itself_with_a_summary() -> None:
    result = subprocess.run(
        [*COMMAND, "--for", "8s"], capture_output=True, text=True, timeout=100, check=False
    )

    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[-1] == "None crossed, none lost."
    for tenant in ("acme", "globex"):
        sent, read = re.findall(
            rf"^{tenant}: (\d+) sent, (\d+) read, 0 lost, 0 crossed", result.stdout, re.M
        )[0]
        assert int(sent) == int(read) > 2
        assert f"its orders is __vt_{tenant}_orders ({sent} records) on the broker" in result.stdout
        # At 2 s on a machine that has nothing else to do, 5 s later on any.
        assert re.search(rf"^0:\d\d {tenant:<7} sees    topics orders, groups shop$", result.stdout, re.M)
    assert any("broker  groups  __vt_acme_shop, __vt_globex_shop" in line for line in lines)


def test_record_that_crosses_is_seen_and_is_status_1(own_temporary: Path) -> None:
    demo = subprocess.Popen([*COMMAND, "--for", "6s"], stdout=subprocess.PIPE, text=True)
    assert demo.stdout is not None
    while "acme    read" not in (line := demo.stdout.readline()):
        assert line, "the demo ended too early"

    # What a gateway without isolation would do: globex' record in acme's topic.
    (config,) = own_temporary.glob("bifrost-demo-*/proxy.yaml")
    upstream = yaml.safe_load(config.read_text())["upstream"]["bootstrap"]
    producer = Producer({"bootstrap.servers": upstream[0]})
    producer.produce("__vt_acme_orders", Order("globex", 999, "hammock", 1).to_bytes())
    assert producer.flush(20) == 0
    rest = demo.communicate(timeout=100)[0]

    assert demo.returncode == 1
    assert "acme    crossed #999 1 hammock of globex" in rest
    assert rest.splitlines()[-1] == "1 crossed, none lost."


@pytest.mark.usefixtures("own_temporary")
def test_control_c_in_a_terminal_gives_it_back_with_the_summary() -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    demo = subprocess.Popen(
        COMMAND,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color"},
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 -- nothing else runs now
    )
    os.close(theirs)

    try:
        shown = read_until(ours, "__vt_globex_shop")
        os.write(ours, b"\x03")
        shown += read_until(ours, None)
        status = demo.wait(60)
    finally:
        demo.kill()
        os.close(ours)

    assert status == 0
    # The alternate screen, and what stands on the ordinary one when it is gone.
    live, _, after = shown.partition(ALTERNATE_SCREEN)[2].partition(ORDINARY_SCREEN)
    assert "tenant acme" in live
    assert "tenant globex" in live
    assert "None crossed, none lost." in after
    assert "Traceback" not in after


def read_until(terminal: int, wanted: str | None) -> str:
    """Read what a program shows, without colours, until `wanted` is in it or (None) until it ends."""
    shown, deadline = b"", time.monotonic() + 100
    while wanted is None or wanted not in without_colours(shown):
        assert time.monotonic() < deadline, without_colours(shown)[-2000:]
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # Linux says so when the program has ended
            break
        if not chunk:
            break
        shown += chunk
    return without_colours(shown)


def without_colours(shown: bytes) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", shown.decode(errors="replace"))
