"""`bifrost check`: says whether a gateway would accept a configuration, without starting anything.

It reads what `bifrost run` would read, also the password files, but opens no socket: it does not check whether a port
is free or a host name resolves. It warns of files of secrets that others can read. Exit status: 0 the configuration is
valid, 2 it is not, or the command line is wrong.
"""

import os
from pathlib import Path
from typing import Annotated

import typer

from bifrost.config.config_source import SALT_KEY_BYTES, ConfigFiles
from bifrost.config.errors import ConfigError
from bifrost.config.files.exposed_files import REMEDY


def check(
    config: Annotated[
        Path, typer.Option("--config", "-c", help="What bifrost run would be given: a file or a folder.")
    ],
) -> None:
    """Say whether a configuration is valid, and everything that is wrong with it."""
    source = ConfigFiles(config, os.urandom(SALT_KEY_BYTES))
    try:
        loaded = source.read()
    except ConfigError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    for path in source.exposed(loaded):
        typer.echo(
            f"warning: {path}: every user of this machine can read or change this secret: {REMEDY}", err=True
        )
    counts = (
        _count(len(loaded.proxy.listener_sets), "listener set"),
        _count(len(loaded.clusters), "upstream"),
        _count(len(loaded.tenants), "tenant"),
        _count(sum(1 for _ in loaded.credentials()), "credential"),
    )
    typer.echo(f"{source.name}: ok: {', '.join(counts)}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
