"""`bifrost namespaces policy`: shows and sets the policies of namespaces, by the admin API."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from bifrost.cli.admin.api_client import ApiClient
from bifrost.cli.admin.options import JsonOption, end, new_group, print_json, print_table, with_client

policy = new_group("Show, set and delete policies of namespaces, by the admin API.")

NameArgument = Annotated[str, typer.Argument(help="The tenant and its tiers, such as acme:analytics:eu.")]

MAX_FILE_BYTES = 1024 * 1024
"""Largest file that is read: the API takes less."""


@policy.command("show")
@with_client
def show(api: ApiClient, name: NameArgument, as_json: JsonOption = False) -> None:
    """Show the policies of a namespace: that of the state, and that of the configuration."""
    answer = api.get("namespaces", name, "policy").body
    if as_json:
        print_json(answer)
        return
    rows = [
        (source, key, json.dumps(value, ensure_ascii=False))
        for source, given in (("state", answer["policy"]), ("configuration", answer["configured"]))
        for key, value in (given or {}).items()
    ]
    print_table(("SOURCE", "KEY", "VALUE"), rows)


@policy.command("set")
@with_client
def set_(
    api: ApiClient,
    name: NameArgument,
    file: Annotated[
        Path, typer.Option("--file", help="The policy, in YAML or JSON, with the keys of docs/namespaces.md.")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say which topics do not keep to it.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Set the policy of a namespace in place of the stored one, and say which topics do not keep to it."""
    answer = api.ask("PUT", "namespaces", name, "policy", query={"dry_run": dry_run}, body=_read(file)).body
    if as_json:
        print_json(answer)
        return
    for one in answer["violations"]:
        typer.echo(f"{one['topic']}\t{one['key']}\t{one['message']}")
    more = answer["violation_count"] - len(answer["violations"])
    if more:
        typer.echo(f"and {more} more")
    typer.echo(f"{'would set' if answer['is_dry_run'] else 'set'} the policy of {answer['namespace']}")


@policy.command("delete")
@with_client
def delete(api: ApiClient, name: NameArgument, as_json: JsonOption = False) -> None:
    """Delete the stored policy of a namespace; that of the configuration stays."""
    answer = api.ask("DELETE", "namespaces", name, "policy").body
    if as_json:
        print_json(answer)
        return
    typer.echo(f"deleted the policy of {answer['namespace']}")


def _read(file: Path) -> Any:
    """Read a policy; one that is none, the API refuses with the reason."""
    import yaml

    try:
        data = file.read_bytes()
        if len(data) > MAX_FILE_BYTES:
            end(f"{file} has more than {MAX_FILE_BYTES} bytes", 2)
        found = yaml.safe_load(data)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        end(f"{file} cannot be read: {error}", 2)
    return {} if found is None else found
