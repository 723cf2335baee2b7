"""`bifrost namespaces`: creates, lists and deletes namespaces (KIP-37), by the admin API."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from bifrost.cli.admin.api_client import ApiClient
from bifrost.cli.admin.configs import configs
from bifrost.cli.admin.options import JsonOption, new_group, print_json, print_table, with_client
from bifrost.cli.admin.policies import policy

namespaces = new_group("Create, list and delete namespaces, their policies and configs, by the admin API.")
namespaces.add_typer(policy, name="policy")
namespaces.add_typer(configs, name="configs")

NameArgument = Annotated[str, typer.Argument(help="The tenant and its tiers, such as acme:analytics:eu.")]


@namespaces.command("create")
@with_client
def create(api: ApiClient, name: NameArgument, as_json: JsonOption = False) -> None:
    """Create a namespace, with every tier that is missing."""
    create_namespace(api, name, as_json=as_json)


@namespaces.command("list")
@with_client
def list_(
    api: ApiClient,
    under: Annotated[str | None, typer.Argument(help="Only those below this one. Default: all.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List namespaces."""
    list_namespaces(api, under, as_json=as_json)


@namespaces.command("delete")
@with_client
def delete(
    api: ApiClient,
    name: NameArgument,
    recursive: Annotated[bool, typer.Option("--recursive", help="Delete those below it as well.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Delete a namespace with its topics. If namespaces are nested below it, it warns and deletes nothing."""
    delete_namespace(api, name, recursive=recursive, dry_run=dry_run, as_json=as_json)


def create_namespace(api: ApiClient, name: str, *, as_json: bool) -> None:
    """Create a namespace, and print what was created."""
    answer = api.ask("POST", "namespaces", body={"name": name}).body
    if as_json:
        print_json(answer)
        return
    for one in answer["created"]:
        typer.echo(f"created {one}")


def list_namespaces(api: ApiClient, under: str | None, *, as_json: bool) -> None:
    """Print namespaces, those below one or all."""
    answer = api.get("namespaces", under=under).body
    if as_json:
        print_json(answer)
        return
    rows = [
        (
            one["name"],
            one["version"],
            "configuration" if one["is_configured"] else one["on_behalf_of"],
            None if one["at_ms"] is None else _time(one["at_ms"]),
        )
        for one in answer["namespaces"]
    ]
    print_table(("NAMESPACE", "VERSION", "BY", "AT"), rows)


def delete_namespace(api: ApiClient, name: str, *, recursive: bool, dry_run: bool, as_json: bool) -> None:
    """Delete a namespace, and print what was deleted; status 1 if topics remain."""
    answer = api.ask("DELETE", "namespaces", name, query={"recursive": recursive, "dry_run": dry_run}).body
    if as_json:
        print_json(answer)
    else:
        word = "would delete" if answer["is_dry_run"] else "deleted"
        for kind in ("topics", "namespaces"):
            for one in answer[kind]:
                typer.echo(f"{word} {kind.removesuffix('s')} {one}")
        for kind in ("quotas", "acls"):
            if answer[kind]:
                typer.echo(f"{word} {answer[kind]} {'ACLs' if kind == 'acls' else 'quotas'}")
    for topic, error in answer["remaining"].items():
        typer.echo(f"warning: {topic} is still there: {error}", err=True)
    if answer["remaining"]:
        raise typer.Exit(1)


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
