"""`bifrost inventory`: writes down which topics, groups and transactional IDs exist on the physical clusters.

The file is for `bifrost pipeline certify --inventory`. Exit status: 0 done, 1 a physical cluster cannot be listed
whole, 2 the configuration is not valid, or the command line is wrong.
"""

import asyncio
import json
import time
from pathlib import Path
from typing import Annotated

import typer

from bifrost.cli.loading import config_files, read_config


def inventory(
    config: Annotated[
        Path, typer.Option("--config", "-c", help="What bifrost run would be given: a file or a folder.")
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where it is written. Default: standard output.")
    ] = None,
) -> None:
    """Write down which topics, groups and transactional IDs exist on the physical clusters, for certify."""
    loaded = read_config(config_files(config))

    from bifrost.cli.logs import configure_logs

    configure_logs(
        as_json=False, level="critical"
    )  # a cluster that does not answer is an error of this command

    from bifrost.gateway.brokers.cluster_inventory import list_clusters
    from bifrost.gateway.errors import BrokerError, StartError

    try:
        found = asyncio.run(
            list_clusters(
                loaded, lambda: time.monotonic_ns() // 1_000_000, lambda: time.time_ns() // 1_000_000
            )
        )
        text = json.dumps(found, indent=1) + "\n"
        if out is None:
            typer.echo(text, nl=False)
        else:
            out.write_text(text, encoding="utf-8")
    except (BrokerError, StartError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
    except OSError as error:
        typer.echo(f"error: {out}: {error.strerror}", err=True)
        raise typer.Exit(1) from None
