"""One process or several: which of them `bifrost run` starts."""

import sys
from collections.abc import Sequence
from pathlib import Path

import uvloop

from bifrost.config.model import Config
from bifrost.gateway.errors import StartError
from bifrost.gateway.gateway import Gateway
from bifrost.gateway.workers.cpus import worker_count


def run(config: Config, path: Path, worker_command: Sequence[str] = ()) -> int:
    """Run a gateway until it is told to stop by SIGINT or SIGTERM; return the process's exit status.

    It then waits for what is in flight, unless it is told again.

    Args:
        config: what stands at `path`.
        path: where the configuration is read again when it changes, or on SIGHUP.
        worker_command: what starts one worker of several, see `workers/child.py`.

    Raises:
        StartError: it cannot start.
    """
    workers = worker_count(config.proxy.workers)
    if workers == 1:
        return uvloop.run(Gateway(config, path).run())
    if sys.platform != "linux":
        raise StartError(f"proxy.workers is {workers}: more than one worker needs Linux")
    from bifrost.gateway.workers.supervisor import Supervisor  # for those who have some

    return uvloop.run(Supervisor(config, path, workers, worker_command).run())
