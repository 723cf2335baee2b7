"""Host names of one's own, for programs that ask the system for their addresses, without touching the system's.

A program gets a mount namespace, in which another file lies over /etc/hosts (Linux; see unshare(1)).
"""

from __future__ import annotations

import functools
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

_UNSHARE = ("unshare", "--user", "--map-root-user", "--mount")


@functools.cache
def may_have_hosts() -> bool:
    """Whether this system lets us."""
    try:
        done = subprocess.run(
            [*_UNSHARE, "mount", "--bind", "/etc/hosts", "/etc/hosts"], capture_output=True, check=False
        )
    except FileNotFoundError:
        return False
    return done.returncode == 0


def with_hosts(hosts: Path, command: Sequence[str]) -> list[str]:
    """Return the command that runs another one, for which `hosts` is /etc/hosts."""
    over = f"mount --bind {shlex.quote(str(hosts))} /etc/hosts && exec {shlex.join(command)}"
    return [*_UNSHARE, "sh", "-c", over]
