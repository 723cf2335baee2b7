"""`bifrost quotas`: shows and sets quotas of users and client IDs (KIP-546), by the admin API."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bifrost.cli.admin.api_client import ApiClient
from bifrost.cli.admin.options import JsonOption, end, new_group, print_json, print_table, with_client
from bifrost.cli.admin.quota_file import Alteration, QuotaFileError, read_quota_file

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
    whole: Annotated[
        bool, typer.Option("--whole", help="All clients of the namespace, and of those below it, together.")
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
    """Set and remove quotas of a user, a client ID or both, or of the whole namespace."""
    entity: dict[str, str | None] = {}
    for kind, name, is_default in (("user", user, user_default), ("client-id", client_id, client_id_default)):
        if name is not None and is_default:
            end(f"--{kind} and --{kind}-default are two entities: give one", 2)
        if name is not None or is_default:
            entity[kind] = name
    if whole:
        if entity:
            end("--whole is an entity of its own: give it alone", 2)
        entity = {"namespace": None}
    if not entity:
        end("whose quota? Add --user, --user-default, --client-id, --client-id-default or --whole", 2)
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
    if "namespace" in entity:
        return "<all>"
    if kind not in entity:
        return ""
    return entity[kind] or "<default>"


@quotas.command("apply")
@with_client
def apply(
    api: ApiClient,
    file: Annotated[
        Path,
        typer.Argument(
            help="quotas.json of bifrost pipeline bill, or a file in its form.", show_default=False
        ),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
) -> None:
    """Set the quotas that a file says, and say what has changed; of each namespace all or none."""
    try:
        wanted = read_quota_file(file)
    except QuotaFileError as error:
        end(str(error), 2)
    changed = 0
    for namespace, alterations in wanted.items():
        changed += _apply(api, namespace, alterations, dry_run=dry_run)
    if not changed:
        typer.echo("nothing to change")


def _apply(api: ApiClient, namespace: str, alterations: list[Alteration], *, dry_run: bool) -> int:
    """Set quotas in a namespace, as it was read; return how many values have changed."""
    seen = api.get("quotas", namespace=namespace)
    before = {frozenset(one["entity"].items()): one["values"] for one in seen.body["quotas"]}
    lines = []
    for one in alterations:
        known = before.get(frozenset(one["entity"].items()), {})
        for key, value in sorted(one["values"].items()):
            if value != known.get(key):
                lines.append(
                    f"{namespace} {_entity(one['entity'])}: {key} {_rate(known.get(key))} -> {_rate(value)}"
                )
    if lines:  # The version that the lines are about.
        body = {"namespace": namespace, "alterations": alterations}
        query = {"dry_run": dry_run}
        api.ask("POST", "quotas", query=query, body=body, if_match=seen.headers["etag"])
    for line in lines:
        typer.echo(f"would set {line}" if dry_run else f"set {line}")
    return len(lines)


def _entity(entity: dict[str, str | None]) -> str:
    if "namespace" in entity:
        return "as a whole"
    return ", ".join(f"{kind} {'<default>' if name is None else name}" for kind, name in entity.items())


def _rate(value: float | None) -> str:
    return "none" if value is None else f"{value:.16g}"
