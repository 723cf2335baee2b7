"""`bifrost namespaces configs`: shows and sets what the topics of namespaces inherit, by the admin API."""

from typing import Annotated, Any

import typer

from bifrost.cli.admin.api_client import ApiClient
from bifrost.cli.admin.options import JsonOption, end, new_group, print_json, print_table, with_client

configs = new_group("Describe and alter configs that topics inherit from namespaces, by the admin API.")

NameArgument = Annotated[str, typer.Argument(help="The tenant and its tiers, such as acme:analytics:eu.")]


@configs.command("describe")
@with_client
def describe(api: ApiClient, name: NameArgument, as_json: JsonOption = False) -> None:
    """Describe what the topics of a namespace inherit, and from which namespace."""
    answer = api.get("namespaces", name, "configs").body
    if as_json:
        print_json(answer)
        return
    rows = [(config, one["value"], one["namespace"]) for config, one in answer["inherited"].items()]
    print_table(("CONFIG", "VALUE", "NAMESPACE"), rows)


@configs.command("alter")
@with_client
def alter(
    api: ApiClient,
    name: NameArgument,
    add: Annotated[
        list[str] | None,
        typer.Option("--add", metavar="CONFIG=VALUE", help="Set a config, such as retention.ms=86400000."),
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option("--remove", metavar="CONFIG", help="Remove a config.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say which topics would change.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Set and remove configs of a namespace, and change the topics that have no value of their own."""
    values = {}
    for one in add or []:
        config, equals, value = one.partition("=")
        if not config or not equals:
            end(f"--add {one!r} is no CONFIG=VALUE", 2)
        values[config] = value
    if not values and not remove:
        end("nothing to change: give --add CONFIG=VALUE or --remove CONFIG", 2)
    body = {"set": values, "remove": remove or []}
    _print(
        api.ask("POST", "namespaces", name, "configs", query={"dry_run": dry_run}, body=body).body, as_json
    )


@configs.command("report")
@with_client
def report(api: ApiClient, name: NameArgument, as_json: JsonOption = False) -> None:
    """Say which topics have to be changed still, and which have their own value."""
    _print(api.get("namespaces", name, "configs", "report").body, as_json)


def _print(answer: Any, as_json: bool) -> None:
    if as_json:
        print_json(answer)
    else:
        word = "would change" if answer["is_dry_run"] else "changed"
        rows = [(word, *_row(one)) for one in answer["changed"] if one["topic"] not in answer["errors"]]
        rows += [("overrides", *_row(one)) for one in answer["overriding"]]
        print_table(("", "TOPIC", "CONFIG", "FROM", "TO"), rows)
    for topic, error in answer["errors"].items():
        typer.echo(f"warning: {topic} is as it was: {error}", err=True)
    if answer["errors"]:
        raise typer.Exit(1)


def _row(one: Any) -> tuple[str, str, str | None, str | None]:
    return one["topic"], one["config"], one["found"], one["wanted"]
