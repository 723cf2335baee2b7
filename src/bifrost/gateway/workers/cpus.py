"""How many CPUs this process may use: the number of workers for `proxy.workers: auto`."""

import math
import os
from pathlib import Path
from typing import Literal

from bifrost.config.values import MAX_WORKERS

_CGROUP = Path("/sys/fs/cgroup")
_OWN_CGROUP = Path("/proc/self/cgroup")


def worker_count(setting: int | Literal["auto"]) -> int:
    """Return the number of workers to start."""
    return setting if isinstance(setting, int) else min(usable_cpus(), MAX_WORKERS)


def usable_cpus(cgroup: Path = _CGROUP, own: Path = _OWN_CGROUP) -> int:
    """Return the number of CPUs that the scheduler and the cgroup leave to this process, at least 1.

    A quota of one and a half counts as two: two throttled workers do more than one that is not throttled.

    Source: sched_getaffinity(2); cpu.max of cgroup v2, cpu.cfs_quota_us of v1 (cgroups(7)).
    """
    affine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quotas = [quota for folder in _folders(cgroup, own) for quota in _quotas(folder)]
    return max(1, min([affine, *(math.ceil(quota) for quota in quotas)]))


def _folders(cgroup: Path, own: Path) -> list[Path]:
    """Return the folders that may hold quotas: of the cgroup, of its parents, and where a container sees its own."""
    found = [cgroup, cgroup / "cpu"]
    try:
        lines = own.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return found
    for line in lines:
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        root = cgroup if number == "0" and not controllers else cgroup / "cpu"
        if root is cgroup or "cpu" in controllers.split(","):
            inner = root / path.strip("/")
            found += [inner, *(one for one in inner.parents if root in one.parents)]
    return found


def _quotas(folder: Path) -> list[float]:
    """Return the quota of a folder in CPUs, if it sets one."""
    two = _numbers(folder / "cpu.max")
    if len(two) == 2:
        return [two[0] / two[1]] if two[1] > 0 else []
    quota, period = _numbers(folder / "cpu.cfs_quota_us"), _numbers(folder / "cpu.cfs_period_us")
    if quota and period and quota[0] > 0 and period[0] > 0:
        return [quota[0] / period[0]]
    return []


def _numbers(path: Path) -> list[int]:
    try:
        return [int(word) for word in path.read_text(encoding="ascii").split()]
    except (OSError, ValueError):  # No such file, or "max".
        return []
