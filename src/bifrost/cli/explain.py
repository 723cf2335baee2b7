"""`bifrost explain`: says which filters of records apply to a topic, in which order, and why.

It reads the configuration as `bifrost run` would, and asks no cluster: whether the topic exists makes no difference.
Exit status: 0 also where no filter applies, 2 the configuration is not valid, or has no such tenant, or the command
line is wrong.
"""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bifrost.cli.loading import config_files, read_config

if TYPE_CHECKING:
    from bifrost.config.fields.tenants import Tenant
    from bifrost.transforms.tenant_filters import Verdict


class Way(StrEnum):
    """The way of the records."""

    PRODUCE = "produce"
    FETCH = "fetch"


def explain(
    way: Annotated[Way, typer.Argument(help="The way of the records: to the broker, or to a consumer.")],
    config: Annotated[
        Path, typer.Option("--config", "-c", help="What bifrost run would be given: a file or a folder.")
    ],
    tenant: Annotated[str, typer.Option(help="The name of the tenant.")],
    principal: Annotated[str, typer.Option(help="Who produces or fetches, as in User:alice.")],
    topic: Annotated[
        str, typer.Option(help="The topic as the whole tenant sees it: orders, or eu:orders in a namespace.")
    ],
) -> None:
    """Say which filters of records apply to a topic, in which order, and why."""
    source = config_files(config)
    loaded = read_config(source)
    found = next((one for one in loaded.tenants if one.name == tenant), None)
    if found is None:
        typer.echo(f"error: {source.name} has no tenant {tenant}", err=True)
        raise typer.Exit(2)
    if not principal.startswith("User:") or principal == "User:":
        typer.echo(f"error: {principal} is no principal: write User: and a name, as in User:alice", err=True)
        raise typer.Exit(2)
    applying, others = _verdicts(found, principal, topic, way)
    typer.echo(
        f"{way} of {topic} by {principal}, tenant {tenant}: {len(applying)} of {len(found.filters)} filters"
    )
    for number, one in enumerate(applying, 1):
        typer.echo(f"  {number}. {_shown(one)}: {one.why}")
    for one in others:
        typer.echo(f"  -  {_shown(one)}: does not apply: {one.why}")


def _verdicts(
    tenant: "Tenant", principal: str, topic: str, way: Way
) -> "tuple[list[Verdict], list[Verdict]]":
    """Return the filters that apply, in the order in which records pass them, and the others."""
    # Loaded only for this command: the command line itself is to start quickly.
    from bifrost.transforms.record_transform import Direction
    from bifrost.transforms.tenant_filters import TenantFilters

    direction = Direction(way.value)
    filters = TenantFilters(tenant.filters, is_dotted=tenant.namespace_encoding == "dotted")
    verdicts = list(filters.explain(principal, topic, direction))
    applying = [one for one in verdicts if one.applies]
    others = [one for one in verdicts if not one.applies]
    return (applying if direction is Direction.PRODUCE else applying[::-1]), others


def _shown(verdict: "Verdict") -> str:
    one = verdict.filter
    return one.name.value if one.label is None else f"{one.label} ({one.name.value})"
