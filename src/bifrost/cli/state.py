"""`bifrost state`: backs up, restores and checks what the gateways share.

The commands use the configuration's connection to the physical cluster that has the state. Gateways may run meanwhile.
Exit status: 0 done; 1 the state or the file is not as it should be, or no broker answers; 2 the configuration or the
command line is wrong.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, TypeVar

import typer

from bifrost.cli.loading import config_files, read_config
from bifrost.config.model import Config
from bifrost.records.batch_reader import UnreadableBatch
from bifrost.state.state_export import UnreadableExport, differences, export_lines, read_export, to_write
from bifrost.state.state_record import StateRecord, TooLarge, UnreadableState
from bifrost.state.state_table import StateTable, check_room

if TYPE_CHECKING:
    from bifrost.gateway.state.state_client import StateClient

Result = TypeVar("Result")

MAX_SHOWN = 20
"""Differences that are printed one by one."""

state = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode=None, help="Back up what the gateways share."
)

ConfigOption = Annotated[
    Path, typer.Option("--config", "-c", help="What bifrost run is given: a file or a folder.")
]
FileArgument = Annotated[Path, typer.Argument(help="The export: JSON lines.")]


@state.command("export")
def export(config: ConfigOption, file: FileArgument) -> None:
    """Write the state to a file, with its versions and a checksum."""

    async def work(client: "StateClient") -> str:
        records = _records(client.table)
        _write(file, b"".join(export_lines(records)))
        return f"{len(records)} records written to {file}"

    _run(config, work)


@state.command("import")
def import_(config: ConfigOption, file: FileArgument) -> None:
    """Restore a state from a file, on a cluster that has none; all of it or nothing."""
    records = _read(file)

    async def work(client: "StateClient") -> str:
        def build(table: StateTable) -> list[tuple[int, bytes | None, bytes | None]]:
            if len(table):
                raise TooLarge(
                    f"the state has {len(table)} records already, and only an empty one can be restored: delete "
                    "the topic, or name another in proxy.state.topic"
                )
            made = to_write(records)
            sizes = [len(key or b"") + len(value or b"") for _, key, value in made]
            largest = table.limits.record_bytes
            if max(sizes) > largest:
                raise TooLarge(f"a record has {max(sizes)} bytes, and max_record_bytes is {largest}")
            check_room(table.limits, len(made), sum(sizes))
            return made

        if records:
            await client.writer.write(build, records[-1].change)
        return f"{len(records)} records restored from {file}"

    _run(config, work, creates=True)


@state.command("verify")
def verify(
    config: ConfigOption,
    against: Annotated[
        Path | None, typer.Option("--against", help="An export that the state has to be equal to.")
    ] = None,
) -> None:
    """Read the whole topic, and check every record; compare it with an export."""
    exported = None if against is None else _read(against)

    async def work(client: "StateClient") -> str:
        records, wrong = _records(client.table), []
        for one in client.reader.lost:
            wrong.append(
                f"{one.record.key} at offset {one.offset}: version {one.record.version} by {one.record.writer} is not "
                f"newer than {one.found}, and counts for nothing"
            )
        if exported is not None:
            wrong += [f"{key}: {text}" for key, text in differences(exported, records)]
        for text in wrong[:MAX_SHOWN]:
            typer.echo(f"error: {text}", err=True)
        if wrong:
            _fail(f"{len(wrong)} mistakes in {len(records)} records")
        deleted = sum(one.body is None for one in records)
        equal = "" if against is None else f", equal to {against}"
        return f"ok: {len(records)} records, {deleted} of them deleted, {client.table.size} bytes{equal}"

    _run(config, work)


def _records(table: StateTable) -> list[StateRecord]:
    return [entry.record for entry in table.entries()]


def _run(path: Path, work: Callable[["StateClient"], Awaitable[str]], *, creates: bool = False) -> None:
    """Do some work with the state, and print what it returns."""
    config = read_config(config_files(path))
    if config.proxy.state is None:
        typer.echo(f"error: {path}: proxy.state is missing: write state: {{}} to have one", err=True)
        raise typer.Exit(2)

    from bifrost.cli.logs import configure_logs

    configure_logs(as_json=False, level="critical")  # what a gateway would log is printed here

    from bifrost.gateway.errors import BrokerError, StartError

    try:
        typer.echo(asyncio.run(with_state(config, work, creates=creates)))
    except (BrokerError, StartError, UnreadableState, UnreadableBatch, TooLarge, OSError) as error:
        _fail(str(error))


async def with_state(
    config: Config, work: Callable[["StateClient"], Awaitable[Result]], *, creates: bool = False
) -> Result:
    """Read the state of a configuration that has the section `proxy.state`, and do some work with it.

    Raises:
        BrokerError, StartError, UnreadableState, UnreadableBatch: it cannot be read.
    """
    from bifrost.gateway.brokers.cluster import Cluster
    from bifrost.gateway.state.state_client import open_state

    settings, limits = config.proxy.state, config.proxy.limits
    assert settings is not None
    upstream = next(one for one in config.clusters if settings.upstream in (None, one.name))
    cluster = Cluster(upstream, config.tenants_of(upstream), limits, lambda: time.monotonic_ns() // 1_000_000)
    try:
        await cluster.refresh()
        timeout_ms = limits.upstream_connect_timeout_ms
        async with open_state(cluster, settings, timeout_ms, creates=creates) as client:
            await client.until_current()
            return await work(client)
    finally:
        await cluster.close()


def _read(file: Path) -> list[StateRecord]:
    try:
        with file.open("rb") as lines:
            return read_export(lines)
    except (OSError, UnreadableExport) as error:
        _fail(f"{file}: {error}")


def _write(file: Path, data: bytes) -> None:
    """Write a file in one step, which only its owner may read: it may say who may do what."""
    partial = file.with_name(f"{file.name}.partial")
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
    partial.replace(file)


def _fail(text: str) -> NoReturn:
    typer.echo(f"error: {text}", err=True)
    raise typer.Exit(1)
