"""`bifrost topics`: moves topics to other namespaces and shares them, by the admin API."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from bifrost.cli.admin.api_client import ApiClient
from bifrost.cli.admin.options import JsonOption, new_group, print_json, print_table, with_client

topics = new_group("Move topics to other namespaces and share them, by the admin API.")

TopicArgument = Annotated[
    str, typer.Argument(help="The namespace that owns it and its name there, such as acme:eu/orders.")
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
    body = {"source": topic, "target": _place(topic, to, name), "keeps_name": keep_name}
    _tell(api.ask("POST", "topics", "move", body=body).body, as_json=as_json)


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


def _place(topic: str, namespace: str, name: str | None) -> str:
    return f"{namespace}/{topic.partition('/')[2] if name is None else name}"


def _tell(answer: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
        return
    typer.echo(f"owner {answer['owner']}")
    for one in answer["shares"]:
        typer.echo(f"shared to {one['place']} ({one['access']})")
