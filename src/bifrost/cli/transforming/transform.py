"""`bifrost transform test`: runs a transform of records over a sample, without a gateway and without its bounds.

Exit status: 0 the transform did what it may, 1 it failed or broke the contract, 2 the file or the sample cannot be
read, or the command line is wrong.
"""

import json
import traceback
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from bifrost.user_transforms.arrow_records import SCHEMA, WrongBatch, check_batch
from bifrost.user_transforms.context import Context
from bifrost.user_transforms.function import LoadError, load_function

transform = typer.Typer(
    help="Try transforms of records.", add_completion=False, no_args_is_help=True, rich_markup_mode=None
)


class Way(StrEnum):
    """The way of the records."""

    PRODUCE = "produce"
    FETCH = "fetch"


class WrongSample(Exception):
    """The file of records is not what it should be."""


@transform.callback()
def _group() -> None:
    """Try transforms of records."""


@transform.command("test")
def try_out(
    file: Annotated[Path, typer.Argument(help="A Python file with a function transform(batch, context).")],
    records: Annotated[Path, typer.Option(help="A JSON file: a list of records, see docs/transforms.md.")],
    direction: Annotated[Way, typer.Option(help="The way of the records.")] = Way.PRODUCE,
    topic: Annotated[str, typer.Option(help="The topic that the transform is told.")] = "orders",
    tenant: Annotated[str, typer.Option(help="The tenant that the transform is told.")] = "acme",
) -> None:
    """Run a transform over a sample of records, and print what it changes."""
    try:
        given = read_sample(records)
        function = load_function(str(file), None)
    except (WrongSample, LoadError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    try:
        made = function(given, Context(tenant, topic, direction.value, 0))
        made = check_batch(made, given, is_produce=direction is Way.PRODUCE)
    except WrongBatch as error:
        typer.echo(f"error: the gateway would refuse this batch: {error}", err=True)
        raise typer.Exit(1) from None
    except Exception:
        # Here the records are the user's own sample.
        typer.echo(traceback.format_exc(), err=True, nl=False)
        raise typer.Exit(1) from None
    for line in differences(given, made):
        typer.echo(line)


def read_sample(file: Path) -> Any:
    """Return the records of a file as a record batch.

    Raises:
        WrongSample: it has none.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WrongSample(f"{file}: {error}") from None
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise WrongSample(f"{file}: write a list of records, each with key, value, headers, timestamp")
    rows = []
    for place, one in enumerate(found):
        unknown = one.keys() - {"key", "value", "headers", "timestamp"}
        headers, timestamp = one.get("headers", {}), one.get("timestamp", 0)
        if unknown or not isinstance(headers, dict) or not isinstance(timestamp, int):
            raise WrongSample(
                f"{file}: record {place}: it may have key, value, headers (a mapping) and timestamp (a number)"
            )
        rows.append(
            {
                "offset_delta": place,
                "timestamp": timestamp,
                "key": _bytes(one.get("key")),
                "value": _bytes(one.get("value")),
                "headers": [{"key": name, "value": _bytes(value)} for name, value in headers.items()],
            }
        )
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def differences(given: Any, made: Any) -> Iterator[str]:
    """Yield, record by record, what has changed: `-` before, `+` after; in the end how many have."""
    after = {row["offset_delta"]: row for row in made.to_pylist()}
    changed = 0
    for row in given.to_pylist():
        place = row["offset_delta"]
        now = after.get(place)
        if now == row:
            continue
        changed += 1
        yield f"record {place}" if now is not None else f"record {place} is left out"
        for name in row if now is not None else ():
            assert now is not None
            if row[name] != now[name]:
                yield f"- {name}: {_shown(row[name])}"
                yield f"+ {name}: {_shown(now[name])}"
    yield f"{given.num_rows} records, {changed} changed, {given.num_rows - made.num_rows} of them left out"


def _bytes(value: Any) -> bytes | None:
    """Return a text as UTF-8, null as it is, and anything else as its JSON."""
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else json.dumps(value, ensure_ascii=False).encode()


def _shown(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, list):
        return ", ".join(f"{one['key']}={_shown(one['value'])}" for one in value) or "none"
    return "null" if value is None else str(value)
