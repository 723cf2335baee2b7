"""`bifrost topics`: creates, lists, moves, shares and deletes topics of namespaces, by the admin API."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from bifrost.cli.admin.api_client import ApiClient
from bifrost.cli.admin.options import JsonOption, end, new_group, print_json, print_table, with_client

topics = new_group("Create, list, move, share and delete topics of namespaces, by the admin API.")

TopicArgument = Annotated[
    str, typer.Argument(help="The namespace that owns it and its name there, such as acme:eu/orders.")
]
PartitionsOption = Annotated[
    int | None, typer.Option("--partitions", help="How many. Default: as the brokers do.")
]
ReplicationOption = Annotated[
    int | None, typer.Option("--replication-factor", help="How many replicas. Default: as the brokers do.")
]
ConfigOption = Annotated[
    list[str] | None,
    typer.Option("--config", metavar="CONFIG=VALUE", help="A config of its own, such as retention.ms=1."),
]
AsOption = Annotated[str | None, typer.Option("--as", help="The topic's name there. Default: the same name.")]


class Access(StrEnum):
    """What clients may do with a shared topic."""

    READ = "read"
    READ_WRITE = "read-write"


@topics.command("list")
@with_client
def list_(
    api: ApiClient,
    under: Annotated[
        str | None, typer.Argument(help="Only with a place in this namespace, or below. Default: all.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the topics that were moved or are shared."""
    answer = api.get("topics", under=under).body
    if as_json:
        print_json(answer)
        return
    rows = [
        (one["home"], one["owner"], ", ".join(f"{two['place']} ({two['access']})" for two in one["shares"]))
        for one in answer["topics"]
    ]
    print_table(("HOME", "OWNER", "SHARES"), rows)


@topics.command("all")
@with_client
def all_(
    api: ApiClient,
    namespace: Annotated[str, typer.Argument(help="The tenant and its tiers, such as acme:analytics:eu.")],
    recursive: Annotated[
        bool, typer.Option("--recursive", help="With those of the namespaces below it.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List all topics that a namespace owns, wherever they were created, and those that are shared with it."""
    list_topics(api, namespace, recursive=recursive, as_json=as_json)


@topics.command("create")
@with_client
def create(
    api: ApiClient,
    topic: TopicArgument,
    partitions: PartitionsOption = None,
    replication_factor: ReplicationOption = None,
    config: ConfigOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be created.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Create a topic under the policies of its namespace, with what it inherits."""
    create_topic(api, topic, partitions, replication_factor, config, dry_run=dry_run, as_json=as_json)


@topics.command("configs")
@with_client
def configs(
    api: ApiClient,
    topic: TopicArgument,
    add: Annotated[
        list[str] | None,
        typer.Option("--add", metavar="CONFIG=VALUE", help="Set a config, such as retention.ms=86400000."),
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option("--remove", metavar="CONFIG", help="Remove a config, so that the topic inherits it."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the configs that are set for a topic, after these changes, if any."""
    namespace, name = _parts(topic)
    if add or remove:
        body = {"set": _values("--add", add), "remove": remove or []}
        found = api.ask("POST", "namespaces", namespace, "topics", name, "configs", body=body).body
    else:
        listed = api.get("namespaces", namespace, "topics").body["topics"]
        found = next((one for one in listed if one["topic"] == topic), None)
        if found is None:
            end(f"topic {topic} does not exist", 1)
    if as_json:
        print_json(found)
    else:
        print_table(("CONFIG", "VALUE"), sorted(found["configs"].items()))


@topics.command("delete")
@with_client
def delete(api: ApiClient, topic: TopicArgument, as_json: JsonOption = False) -> None:
    """Delete a topic with its records."""
    delete_topic(api, topic, as_json=as_json)


@topics.command("move")
@with_client
def move(
    api: ApiClient,
    topic: TopicArgument,
    to: Annotated[str, typer.Option("--to", help="The namespace that owns it from then on.")],
    name: AsOption = None,
    keep_name: Annotated[
        bool, typer.Option("--keep-name", help="Share it to the old place, to read and write.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Give a topic another owner or name. No record is copied."""
    move_topic(api, topic, to, name, keep_name=keep_name, as_json=as_json)


@topics.command("share")
@with_client
def share(
    api: ApiClient,
    topic: TopicArgument,
    with_: Annotated[str, typer.Option("--with", help="The namespace or tenant that sees it as well.")],
    name: AsOption = None,
    access: Annotated[Access, typer.Option("--access", help="What clients may do there.")] = Access.READ,
    as_json: JsonOption = False,
) -> None:
    """Show a topic to another namespace or tenant, or change what may be done there."""
    body = {"source": topic, "target": _place(topic, with_, name), "access": access.value}
    _tell(api.ask("POST", "topics", "share", body=body).body, as_json=as_json)


@topics.command("unshare")
@with_client
def unshare(
    api: ApiClient,
    topic: TopicArgument,
    with_: Annotated[str, typer.Option("--with", help="The namespace or tenant that sees it no longer.")],
    name: AsOption = None,
    as_json: JsonOption = False,
) -> None:
    """End a share, also for clients that are connected."""
    body = {"source": topic, "target": _place(topic, with_, name)}
    _tell(api.ask("POST", "topics", "unshare", body=body).body, as_json=as_json)


def list_topics(api: ApiClient, namespace: str, *, recursive: bool, as_json: bool) -> None:
    """Print the topics of a namespace."""
    answer = api.get("namespaces", namespace, "topics", recursive=recursive).body
    if as_json:
        print_json(answer)
        return
    columns = ("TOPIC", "PARTITIONS", "REPLICAS", "ACCESS", "PHYSICAL NAME")
    print_table(
        columns,
        [
            (
                one["topic"],
                one["partitions"],
                one["replication_factor"],
                one["access"] or "owner",
                one["physical"],
            )
            for one in answer["topics"]
        ],
    )


def create_topic(
    api: ApiClient,
    topic: str,
    partitions: int | None,
    replication_factor: int | None,
    configs: Sequence[str] | None,
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Create a topic, and print what was created."""
    namespace, name = _parts(topic)
    values = _values("--config", configs)
    sizes = {"partitions": partitions, "replication_factor": replication_factor}
    body = {"topic": name, "configs": values} | {key: one for key, one in sizes.items() if one is not None}
    query = {"dry_run": dry_run}
    answer = api.ask("POST", "namespaces", namespace, "topics", query=query, body=body).body
    if as_json:
        print_json(answer)
        return
    word = "would create" if answer["is_dry_run"] else "created"
    typer.echo(
        f"{word} topic {answer['topic']} with {answer['partitions']} partitions "
        f"and {answer['replication_factor']} replicas"
    )
    for config, value in sorted(answer["configs"].items()):
        typer.echo(f"  {config}={value}")


def delete_topic(api: ApiClient, topic: str, *, as_json: bool) -> None:
    """Delete a topic, and print which."""
    namespace, name = _parts(topic)
    answer = api.ask("DELETE", "namespaces", namespace, "topics", name).body
    if as_json:
        print_json(answer)
    else:
        typer.echo(f"deleted topic {answer['topic']}")


def move_topic(
    api: ApiClient, topic: str, to: str, name: str | None, *, keep_name: bool, as_json: bool
) -> None:
    """Give a topic another owner or name, and print where it is."""
    body = {"source": topic, "target": _place(topic, to, name), "keeps_name": keep_name}
    _tell(api.ask("POST", "topics", "move", body=body).body, as_json=as_json)


def _values(option: str, given: Sequence[str] | None) -> dict[str, str]:
    """Return the configs of an option."""
    values = {}
    for one in given or ():
        config, equals, value = one.partition("=")
        if not config or not equals:
            end(f"{option} {one!r} is no CONFIG=VALUE", 2)
        values[config] = value
    return values


def _parts(topic: str) -> tuple[str, str]:
    """Return the namespace and the name of a topic."""
    namespace, slash, name = topic.partition("/")
    if not slash or not namespace or not name:
        end(f"{topic!r}: write a namespace and a topic, such as acme:eu/orders", 2)
    return namespace, name


def _place(topic: str, namespace: str, name: str | None) -> str:
    return f"{namespace}/{topic.partition('/')[2] if name is None else name}"


def _tell(answer: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
        return
    typer.echo(f"owner {answer['owner']}")
    for one in answer["shares"]:
        typer.echo(f"shared to {one['place']} ({one['access']})")
