"""A child process that never outlives this one and is stopped in order.

It runs in a session of its own, so the terminal's Ctrl-C reaches only this process, which decides in which order things
stop. If this process dies without stopping the child (SIGKILL, a crash), a watcher ends the child: a shell that waits
for the end of a pipe that only this process holds. A parent-death signal would not do: it follows the thread that
forked, not the process, and only Linux has it.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from bifrost.embedded.errors import EmbeddedError

STOP_GRACE_S = 15.0
"""How long a child may take to end after SIGTERM before it gets SIGKILL, in seconds."""

# $1: the child. A line means that the child has ended; the end of the pipe without a line, that this process has died.
_WATCHER = """
read line && exit
kill -TERM "$1" 2>/dev/null || exit
for second in 1 2 3 4 5 6 7 8 9 10; do sleep 1; kill -0 "$1" 2>/dev/null || exit; done
kill -KILL "$1" 2>/dev/null
"""


def tail(text: str, lines: int = 15) -> str:
    """Return the last `lines` lines of a log, without the frames of Java's stack traces."""
    kept = [line for line in text.splitlines() if line.strip() and not line.startswith("\tat ")]
    return "\n".join(kept[-lines:])


class Child:
    """One running child process; its output goes to a file."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        log_file: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        """Start `command`.

        Args:
            command: program and arguments.
            log_file: receives standard output and error, appended.
            env: its whole environment; None: this process's.
            cwd: its working directory; None: this process's.
        Raises:
            EmbeddedError: it could not be started.
        """
        self.log_file = log_file
        try:
            with log_file.open("ab") as log:
                self._process = subprocess.Popen(
                    [str(part) for part in command],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=None if env is None else dict(env),
                    cwd=cwd,
                    start_new_session=True,
                )
        except OSError as error:
            raise EmbeddedError(f"cannot start {command[0]}: {error}") from error
        try:
            self._watcher = subprocess.Popen(
                ["/bin/sh", "-c", _WATCHER, "watcher", str(self._process.pid)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise

    @property
    def pid(self) -> int:
        """Its process ID."""
        return self._process.pid

    def exit_status(self) -> int | None:
        """Return None while it runs, else its exit status (negative: the signal that ended it)."""
        status = self._process.poll()
        if status is not None:
            self._dismiss_watcher()
        return status

    def wait(self, timeout_s: float) -> bool:
        """Wait until it has ended, at most `timeout_s` seconds; return whether it has."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)
        return self.exit_status() is not None

    def terminate(self) -> None:
        """Ask it to end (SIGTERM), without waiting."""
        self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once (SIGKILL) and wait."""
        self._process.kill()
        self._process.wait()
        self._dismiss_watcher()

    def stop(self, grace_s: float = STOP_GRACE_S) -> bool:
        """End it: SIGTERM, and SIGKILL after `grace_s` seconds. Return whether SIGTERM was enough."""
        if self.exit_status() is not None:
            return True
        self.terminate()
        if self.wait(grace_s):
            return True
        self.kill()
        return False

    def log(self) -> str:
        """Return what it has printed so far."""
        return self.log_file.read_text(encoding="utf-8", errors="replace")

    def _dismiss_watcher(self) -> None:
        stdin = self._watcher.stdin
        if stdin is None or stdin.closed:
            return
        with contextlib.suppress(BrokenPipeError):
            stdin.write(b"done\n")
            stdin.flush()
        with contextlib.suppress(BrokenPipeError):
            stdin.close()
        self._watcher.wait()
