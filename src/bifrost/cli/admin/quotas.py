"""`bifrost quotas`: shows and sets quotas of users and client IDs (KIP-546), by the admin API."""

from typing import Annotated, Any

import typer

from bifrost.cli.admin.api_client import ApiClient
from bifrost.cli.admin.options import JsonOption, end, new_group, print_json, print_table, with_client

quotas = new_group("Describe and alter quotas of users and client IDs, by the admin API.")

NamespaceArgument = Annotated[
    str, typer.Argument(help="The tenant and its tiers, such as acme:analytics:eu.")
]


@quotas.command("describe")
@with_client
def describe(api: ApiClient, namespace: NamespaceArgument, as_json: JsonOption = False) -> None:
    """Describe what is set in a namespace."""
    _print(api.get("quotas", namespace=namespace).body, as_json=as_json)


@quotas.command("alter")
@with_client
def alter(
    api: ApiClient,
    namespace: NamespaceArgument,
    user: Annotated[str | None, typer.Option("--user", help="The user.")] = None,
    user_default: Annotated[bool, typer.Option("--user-default", help="All users without a quota.")] = False,
    client_id: Annotated[str | None, typer.Option("--client-id", help="The client ID.")] = None,
    client_id_default: Annotated[
        bool, typer.Option("--client-id-default", help="All client IDs without a quota.")
    ] = False,
    add: Annotated[
        list[str] | None,
        typer.Option("--add", metavar="KEY=VALUE", help="Set a quota, such as producer_byte_rate=1048576."),
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option("--remove", metavar="KEY", help="Remove a quota.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Set and remove quotas of a user, a client ID or both."""
    entity: dict[str, str | None] = {}
    for kind, name, is_default in (("user", user, user_default), ("client-id", client_id, client_id_default)):
        if name is not None and is_default:
            end(f"--{kind} and --{kind}-default are two entities: give one", 2)
        if name is not None or is_default:
            entity[kind] = name
    if not entity:
        end("whose quota? Add --user, --user-default, --client-id or --client-id-default", 2)
    values: dict[str, float | None] = {}
    for one in add or []:
        key, _, text = one.partition("=")
        try:
            values[key] = float(text)
        except ValueError:
            end(f"--add {one!r} is no KEY=VALUE with a number", 2)
    values |= dict.fromkeys(remove or [])
    if not values:
        end("nothing to change: give --add KEY=VALUE or --remove KEY", 2)
    body = {"namespace": namespace, "alterations": [{"entity": entity, "values": values}]}
    _print(api.ask("POST", "quotas", body=body).body, as_json=as_json)


def _print(answer: Any, *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
        return
    rows = [
        (_shown(one["entity"], "user"), _shown(one["entity"], "client-id"), key, f"{value:.16g}")
        for one in answer["quotas"]
        for key, value in sorted(one["values"].items())
    ]
    print_table(("USER", "CLIENT ID", "QUOTA", "VALUE"), rows)


def _shown(entity: dict[str, str | None], kind: str) -> str:
    if kind not in entity:
        return ""
    return entity[kind] or "<default>"
