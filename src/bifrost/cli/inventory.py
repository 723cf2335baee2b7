"""`bifrost inventory`: writes down which topics, groups and transactional IDs exist on the physical clusters.

Whose a topic is its name says, unless it was moved to another tenant: these topics are listed with their owners.

The file is for `bifrost pipeline certify --inventory`. Exit status: 0 done, 1 a physical cluster cannot be listed
whole, 2 the configuration is not valid, or the command line is wrong.
"""

import asyncio
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bifrost.cli.loading import config_files, read_config
from bifrost.config.model import Config
from bifrost.records.batch_reader import UnreadableBatch
from bifrost.state.state_record import UnreadableState

if TYPE_CHECKING:
    from bifrost.gateway.state.state_client import StateClient
    from bifrost.tenancy.namespaces.topic_aliases import TopicAliases


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

    from bifrost.gateway.errors import BrokerError, StartError

    try:
        text = json.dumps(asyncio.run(_list(loaded)), indent=1) + "\n"
        if out is None:
            typer.echo(text, nl=False)
        else:
            out.write_text(text, encoding="utf-8")
    except (BrokerError, StartError, UnreadableState, UnreadableBatch) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
    except OSError as error:
        typer.echo(f"error: {out}: {error.strerror}", err=True)
        raise typer.Exit(1) from None


async def _list(config: Config) -> dict[str, Any]:
    from bifrost.cli.state import with_state
    from bifrost.gateway.brokers.cluster_inventory import list_clusters

    moved: dict[str, dict[str, str]] = {}
    if config.proxy.state is not None:
        moved = await with_state(config, lambda client: _moved_topics(config, client))
    found = await list_clusters(
        config, lambda: time.monotonic_ns() // 1_000_000, lambda: time.time_ns() // 1_000_000
    )
    for cluster in found["clusters"]:
        cluster["moved_topics"] = moved.get(cluster["upstream"], {})
    return found


async def _moved_topics(config: Config, client: "StateClient") -> dict[str, dict[str, str]]:
    """Return the tenant that owns each topic of another tenant's prefix, by upstream and physical name.

    Raises:
        UnreadableState: a record of a moved topic cannot be understood.
    """
    upstreams = {one.name: config.cluster_of(one).name for one in config.tenants}
    found: dict[str, dict[str, str]] = {}
    for tenant, part in (await topic_aliases(config, client)).parts.items():
        for physical, owner in sorted(part.owners.items()):
            if owner.namespace[0] != tenant:
                found.setdefault(upstreams[tenant], {})[physical.decode()] = owner.namespace[0]
    return found


async def topic_aliases(config: Config, client: "StateClient") -> "TopicAliases":
    """Return the moved and shared topics that the state has.

    Raises:
        UnreadableState: a record of one cannot be understood.
    """
    from bifrost.tenancy.namespaces.alias_table import KIND, NAME_KIND
    from bifrost.tenancy.namespaces.topic_aliases import TenantPlace, TopicAliases

    aliases = TopicAliases()
    aliases.configure(
        {
            one.name: TenantPlace(
                config.cluster_of(one).name, one.name_prefixes.topic, one.namespace_encoding == "dotted"
            )
            for one in config.tenants
        }
    )
    try:
        for kind in (KIND, NAME_KIND):
            for record in client.table.of_kind(kind):
                aliases.apply(record.key, record)
    except ValueError as error:
        raise UnreadableState(f"moved topics: {error}") from None
    return aliases
