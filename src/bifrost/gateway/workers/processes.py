"""Starts the gateway of `bifrost run` as one process or several."""

import sys
from collections.abc import Sequence

import uvloop

from bifrost.config.config_source import ConfigSource
from bifrost.config.model import Config
from bifrost.gateway.errors import StartError
from bifrost.gateway.gateway import Gateway
from bifrost.gateway.sockets.descriptor_table import make_room
from bifrost.gateway.workers.cpus import worker_count


def run(config: Config, source: ConfigSource, worker_command: Sequence[str] = ()) -> int:
    """Run a gateway until it is told to stop by SIGINT or SIGTERM; return the process's exit status.

    It then waits for requests in flight, unless a second signal arrives.

    Args:
        config: the configuration that was read from `source`.
        source: from which it is read again when it changes, or on SIGHUP.
        worker_command: command that starts one worker, see `workers/child.py`.

    Raises:
        StartError: the gateway cannot start.
    """
    workers = worker_count(config.proxy.workers)
    if workers == 1:
        make_room(config.proxy.limits.max_connections)
        return uvloop.run(Gateway(config, source).run())
    if sys.platform != "linux":
        raise StartError(f"proxy.workers is {workers}: more than one worker needs Linux")
    from bifrost.gateway.workers.supervisor import Supervisor  # for those who have some

    return uvloop.run(Supervisor(config, source, workers, worker_command).run())
