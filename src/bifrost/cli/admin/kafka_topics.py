"""`bifrost kafka-topics`: namespaces with the options that KIP-37 gives to Kafka's own tool, by the admin API."""

from typing import Annotated

import typer

from bifrost.cli.admin.api_client import ApiClient
from bifrost.cli.admin.namespaces import create_namespace, delete_namespace, list_namespaces
from bifrost.cli.admin.options import JsonOption, end, with_client


@with_client
def kafka_topics(
    api: ApiClient,
    namespace: Annotated[
        str | None, typer.Option("--namespace", help="The tenant and its tiers, such as acme:analytics:eu.")
    ] = None,
    create: Annotated[
        bool, typer.Option("--create", help="Create the namespace, with every tier that is missing.")
    ] = False,
    list_: Annotated[
        bool, typer.Option("--list", help="List the namespaces below it; without it all.")
    ] = False,
    delete: Annotated[bool, typer.Option("--delete", help="Delete the namespace with its topics.")] = False,
    recursive: Annotated[
        bool, typer.Option("--recursive", help="With --delete: also those nested below it.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Create, list and delete namespaces with the options of KIP-37."""
    if create + list_ + delete != 1:
        end("give exactly one of --create, --list and --delete", 2)
    if recursive and not delete:
        end("--recursive goes with --delete", 2)
    if list_:
        list_namespaces(api, namespace, as_json=as_json)
        return
    if namespace is None:
        end("which namespace? Add --namespace, such as acme:analytics:eu", 2)
    if create:
        create_namespace(api, namespace, as_json=as_json)
    else:
        delete_namespace(api, namespace, recursive=recursive, dry_run=False, as_json=as_json)
