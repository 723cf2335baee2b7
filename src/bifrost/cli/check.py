"""`bifrost check`: says whether a gateway would accept a configuration, without starting anything.

It reads what `bifrost run` would read, also the password files, but opens no socket: it does not check whether a port
is free or a host name resolves. It compiles the rules of SchemaValidator, as a gateway does when it first needs one. It
warns of files of secrets that others can read, and of what a partition remapper's file says and the gateway does
differently. With `--connect` it asks the physical clusters as well. Exit status: 0
the configuration is valid, 1 a physical cluster says that it would not do, 2 the configuration is not valid, or the
command line is wrong.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from bifrost.cli.loading import config_files, read_config
from bifrost.config.files.exposed_files import REMEDY
from bifrost.config.model import Config


def check(
    config: Annotated[
        Path, typer.Option("--config", "-c", help="What bifrost run would be given: a file or a folder.")
    ],
    connect: Annotated[
        bool, typer.Option("--connect", help="Also ask the physical clusters whether it would do.")
    ] = False,
) -> None:
    """Say whether a configuration is valid, and everything that is wrong with it."""
    source = config_files(config)
    loaded = read_config(source)
    for path in source.exposed(loaded):
        typer.echo(
            f"warning: {path}: every user of this machine can read or change this secret: {REMEDY}", err=True
        )
    for notice in loaded.process.notices if loaded.process else ():
        typer.echo(f"warning: {notice}", err=True)
    mistakes = list(_mistaken_rules(loaded))
    for mistake in mistakes:
        typer.echo(f"{source.name}: {mistake}", err=True)
    if mistakes:
        raise typer.Exit(2)
    counts = (
        _count(len(loaded.proxy.listener_sets), "listener set"),
        _count(len(loaded.clusters), "upstream"),
        _count(len(loaded.tenants), "tenant"),
        _count(sum(1 for _ in loaded.credentials()), "credential"),
    )
    typer.echo(f"{source.name}: ok: {', '.join(counts)}")
    if connect and not _ask_clusters(loaded):
        raise typer.Exit(1)


def _mistaken_rules(config: Config) -> Iterator[str]:
    """Yield what is wrong with the rules of SchemaValidator; a gateway refuses all records that such a rule is for."""
    for tenant in config.tenants:
        for number, one in enumerate(tenant.filters):
            for place, rule in enumerate(one.config.checks):
                at = f"tenants[{tenant.name}].filters[{number}].config.checks[{place}].expression"
                try:
                    from bifrost.schemas.readers.reader import SchemaError
                    from bifrost.schemas.schema_checks import compiled
                except ImportError:
                    yield f"{at}: nothing reads CEL here: pip install '.[schemas]' in a clone of Bifrost"
                    return
                try:
                    compiled(rule.expression)
                except SchemaError as error:
                    yield f"{at}: {error}"


def _ask_clusters(config: Config) -> bool:
    """Print what the physical clusters say; return whether the configuration would do."""
    import asyncio
    import time

    from bifrost.cli.logs import configure_logs

    configure_logs(as_json=False, level="critical")  # what a gateway would log is printed as a finding

    from bifrost.gateway.brokers.cluster_check import Kind, check_clusters

    findings = asyncio.run(check_clusters(config, lambda: time.monotonic_ns() // 1_000_000))
    for one in findings:
        typer.echo(f"{one.kind}: {one.text}", err=one.kind is not Kind.OK)
    return all(one.kind is not Kind.ERROR for one in findings)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
