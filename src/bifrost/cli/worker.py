"""One worker of a gateway, which only its supervisor starts: `python -m bifrost.cli.worker ...`.

Exit status: 0 it was told to stop, 1 it could not start, or its supervisor is gone.
"""

import sys


def main(arguments: list[str]) -> int:
    """Run a worker; `arguments` are the log options of `bifrost run`, then those of `Inherited`."""
    log_format, log_level, *numbers = arguments
    number, workers, supervisor_pid, control, arriving, limits, counters = map(int, numbers)
    from bifrost.cli.lean_imports import lean_pydantic
    from bifrost.cli.logs import configure_logs

    configure_logs(log_format == "json", log_level, number)

    with lean_pydantic():
        from bifrost.gateway.workers.worker import Inherited, run_worker

    return run_worker(Inherited(number, workers, supervisor_pid, control, arriving, limits, counters))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
