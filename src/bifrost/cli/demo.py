"""`bifrost demo`: two tenants on one real Kafka, started and stopped by this command alone.

Exit status: 0 each tenant read what it sent and nothing else, or it was stopped before; 1 a record crossed or was
lost, or something could not be started; 2 the command line is wrong.
"""

import re
import sys
from typing import Annotated

import typer

from bifrost.embedded.errors import EmbeddedError
from bifrost.jars.errors import JvmError

SECONDS_PER_UNIT = {"": 1, "s": 1, "m": 60, "h": 3600}


def read_duration(text: str) -> float:
    """Return a duration such as `15s`, `2m`, `1h` or `1.5m` in seconds; without a unit it is in seconds.

    Raises:
        typer.BadParameter: the text is no duration, or not longer than 0.
    """
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)([smh]?)", text.strip())
    seconds = float(match[1]) * SECONDS_PER_UNIT[match[2]] if match else 0
    if not seconds:
        raise typer.BadParameter(f"{text!r} is no duration: write 15s, 2m or 1h")
    return seconds


def demo(
    duration: Annotated[
        float | None,
        typer.Option(
            "--for",
            metavar="DURATION",
            parser=read_duration,
            help="End by itself after 15s, 2m, 1h. Default: when Ctrl-C is pressed.",
        ),
    ] = None,
) -> None:
    """Two tenants on one real Kafka, live, started by this command alone."""
    try:
        is_proven = _run(duration)
    except (EmbeddedError, JvmError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        # Interrupted before anything was started.
        is_proven = True
    raise typer.Exit(0 if is_proven else 1)


def _run(duration_s: float | None) -> bool:
    from rich.console import Console

    from bifrost.embedded.demo.plain import PlainScreen
    from bifrost.embedded.demo.run import Demo
    from bifrost.embedded.demo.screen import LiveScreen

    console = Console()
    is_live = sys.stdout.isatty() and not console.is_dumb_terminal
    with LiveScreen(console) if is_live else PlainScreen(sys.stdout) as screen:
        return Demo(screen, duration_s).run()
