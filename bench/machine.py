"""Where and when figures were measured; without that they say little."""

import datetime
import os
import platform
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

BUSY = 0.5
"""From this load per core before the run on, another program was working."""


@dataclass(frozen=True)
class Machine:
    """A machine as it was during a run."""

    processor: str
    cores: int
    python: str
    haproxy: str
    date: str
    load_before: float
    load_after: float | None = None

    @classmethod
    def now(cls) -> Self:
        """Look at this one."""
        return cls(
            _processor(),
            os.cpu_count() or 1,
            platform.python_version(),
            _haproxy(),
            datetime.datetime.now(datetime.UTC).date().isoformat(),
            os.getloadavg()[0],
        )

    def after(self) -> Self:
        """Return the same with the load as it is now."""
        return replace(self, load_after=os.getloadavg()[0])

    @property
    def load(self) -> str:
        """The load before and after, and what that means for the figures."""
        after = "" if self.load_after is None else f" and {self.load_after:.1f} after"
        is_busy = self.load_before > BUSY * self.cores
        note = ": other programs ran at the same time, so only ratios say something, and those little"
        return f"Load average {self.load_before:.1f} before{after}{note if is_busy else ''}"

    def __str__(self) -> str:
        cores = f"{self.cores} {'core' if self.cores == 1 else 'cores'}"
        return f"{self.processor}, {cores}, Python {self.python}, {self.haproxy}, {self.date}"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _haproxy() -> str:
    command = shutil.which("haproxy")
    if command is None:
        return "no HAProxy (our own relay stands in)"
    told = subprocess.run([command, "-v"], capture_output=True, text=True, check=False).stdout
    words = told.split()
    return f"HAProxy {words[2].partition('-')[0]}" if len(words) > 2 else "HAProxy"
