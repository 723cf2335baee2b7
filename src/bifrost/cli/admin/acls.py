"""`bifrost acls`: lists, creates and deletes ACLs of a namespace, by the admin API."""

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer

from bifrost.cli.admin.api_client import ApiClient
from bifrost.cli.admin.options import JsonOption, end, new_group, print_json, print_table, with_client

acls = new_group("List, create and delete ACLs of a namespace, by the admin API.")

CLUSTER_NAME = "kafka-cluster"

_NEW_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")

NamespaceArgument = Annotated[
    str, typer.Argument(help="The tenant and its tiers, such as acme:analytics:eu; names are relative to it.")
]
TopicOption = Annotated[list[str] | None, typer.Option("--topic", help="A topic; * is all.")]
GroupOption = Annotated[list[str] | None, typer.Option("--group", help="A group; * is all.")]
TransactionalIdOption = Annotated[
    list[str] | None, typer.Option("--transactional-id", help="A transactional ID; * is all.")
]
ClusterOption = Annotated[bool, typer.Option("--cluster", help="The tenant's own cluster.")]
OperationOption = Annotated[
    list[str] | None, typer.Option("--operation", help="Such as Read, Write, Describe or All.")
]

COLUMNS = ("RESOURCE", "PATTERN", "NAME", "PRINCIPAL", "HOST", "OPERATION", "PERMISSION", "BY")


@acls.command("list")
@with_client
def list_(
    api: ApiClient,
    namespace: NamespaceArgument,
    principal: Annotated[str | None, typer.Option("--principal", help="Only those about this one.")] = None,
    topic: Annotated[str | None, typer.Option("--topic", help="Only those about this topic.")] = None,
    group: Annotated[str | None, typer.Option("--group", help="Only those about this group.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the ACLs of a namespace; with --topic or --group those that apply to it, by a prefix or * too."""
    if topic is not None and group is not None:
        end("--topic and --group are two resources: give one", 2)
    query: dict[str, str | None] = {"principal": principal}
    for kind, name in (("TOPIC", topic), ("GROUP", group)):
        if name is not None:
            query |= {"resource_type": kind, "name": name, "pattern_type": "MATCH"}
    answer = api.get("acls", namespace=namespace, **query).body
    if as_json:
        print_json(answer)
        return
    rows = [
        (*_cells(one), "configuration" if one["is_configured"] else one["on_behalf_of"])
        for one in answer["acls"]
    ]
    print_table(COLUMNS, rows)
    warn_if_unused(answer)


@acls.command("create")
@with_client
def create(
    api: ApiClient,
    namespace: NamespaceArgument,
    principal: Annotated[
        list[str], typer.Option("--principal", help="Whom it is about, such as User:alice.")
    ],
    operation: OperationOption = None,
    topic: TopicOption = None,
    group: GroupOption = None,
    transactional_id: TransactionalIdOption = None,
    cluster: ClusterOption = False,
    below: Annotated[
        list[str] | None, typer.Option("--below", help="A namespace below, with all that is in it.")
    ] = None,
    host: Annotated[list[str] | None, typer.Option("--host", help="An IP address. Default: all.")] = None,
    is_prefixed: Annotated[
        bool, typer.Option("--prefixed", help="The names are beginnings of names.")
    ] = False,
    is_denial: Annotated[bool, typer.Option("--deny", help="Deny instead of allow.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Create ACLs: each of these principals at each host may do each operation with each resource."""
    found = resources(topic, group, transactional_id, cluster=cluster, namespaces=below)
    if not found:
        end("about what? Add --topic, --group, --transactional-id, --cluster or --below", 2)
    if not operation:
        end("which operation? Add --operation, such as Read", 2)
    wanted = entries(
        found,
        principal,
        host or ["*"],
        operation,
        pattern_type="PREFIXED" if is_prefixed else "LITERAL",
        permission="DENY" if is_denial else "ALLOW",
    )
    create_acls(api, namespace, wanted, as_json=as_json)


@acls.command("delete")
@with_client
def delete(
    api: ApiClient,
    namespace: NamespaceArgument,
    principal: Annotated[str | None, typer.Option("--principal", help="Those about this one.")] = None,
    operation: Annotated[str | None, typer.Option("--operation", help="Those with this operation.")] = None,
    topic: Annotated[str | None, typer.Option("--topic", help="Those about this topic.")] = None,
    group: Annotated[str | None, typer.Option("--group", help="Those about this group.")] = None,
    transactional_id: Annotated[
        str | None, typer.Option("--transactional-id", help="Those about this transactional ID.")
    ] = None,
    cluster: ClusterOption = False,
    below: Annotated[
        str | None, typer.Option("--below", help="Those about this namespace as a whole.")
    ] = None,
    host: Annotated[str | None, typer.Option("--host", help="Those about this IP address.")] = None,
    is_prefixed: Annotated[bool, typer.Option("--prefixed", help="Those about this beginning.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Delete the ACLs of a namespace that have all these properties."""
    topics, groups, transactional_ids, namespaces = (
        [one] if one else None for one in (topic, group, transactional_id, below)
    )
    found = resources(topics, groups, transactional_ids, cluster=cluster, namespaces=namespaces)
    if len(found) > 1:
        end("give one resource", 2)
    query: dict[str, str | None] = {"principal": principal, "host": host}
    query["operation"] = None if operation is None else enumerated(operation)
    for kind, name in found:
        pattern = "PREFIXED" if is_prefixed else "LITERAL"
        query |= {"resource_type": kind, "name": name, "pattern_type": pattern}
    answers = [delete_acls(api, namespace, query, dry_run=dry_run)]
    print_deleted(answers, as_json=as_json)


def resources(
    topics: Sequence[str] | None,
    groups: Sequence[str] | None,
    transactional_ids: Sequence[str] | None,
    *,
    cluster: bool,
    namespaces: Sequence[str] | None = None,
) -> list[tuple[str, str]]:
    """Return resources by the API's names: kind and name."""
    named = (
        ("TOPIC", topics),
        ("GROUP", groups),
        ("TRANSACTIONAL_ID", transactional_ids),
        ("NAMESPACE", namespaces),
    )
    found = [(kind, name) for kind, names in named for name in names or ()]
    return [*found, ("CLUSTER", CLUSTER_NAME)] if cluster else found


def entries(
    found: Iterable[tuple[str, str]],
    principals: Iterable[str],
    hosts: Iterable[str],
    operations: Iterable[str],
    *,
    pattern_type: str,
    permission: str,
) -> list[dict[str, str]]:
    """Return ACLs as the API takes them, one for each of all combinations."""
    return [
        {
            "resource_type": kind,
            "name": name,
            # A cluster has one name.
            "pattern_type": "LITERAL" if kind == "CLUSTER" else pattern_type,
            "principal": principal,
            "host": host,
            "operation": enumerated(operation),
            "permission": permission,
        }
        for kind, name in found
        for principal in principals
        for host in hosts
        for operation in operations
    ]


def create_acls(api: ApiClient, namespace: str, wanted: list[dict[str, str]], *, as_json: bool) -> None:
    """Create ACLs, and print which were not there."""
    answer = api.ask("POST", "acls", body={"namespace": namespace, "acls": wanted}).body
    if as_json:
        print_json(answer)
        return
    for one in answer["created"]:
        typer.echo(f"created {described(one)}")
    known = len(wanted) - len(answer["created"])
    if known:
        typer.echo(f"{known} were there already")


def delete_acls(
    api: ApiClient, namespace: str, query: dict[str, str | None], *, dry_run: bool = False
) -> Any:
    """Delete the ACLs that the query means; return the API's answer."""
    return api.ask("DELETE", "acls", query={"namespace": namespace, **query, "dry_run": dry_run}).body


def print_deleted(answers: Sequence[Any], *, as_json: bool) -> None:
    """Print what was deleted; status 1 if ACLs remain."""
    for answer in answers:
        if as_json:
            print_json(answer)
            continue
        word = "would delete" if answer["is_dry_run"] else "deleted"
        for one in answer["deleted"]:
            typer.echo(f"{word} {described(one)}")
    remaining = [one for answer in answers for one in answer["remaining"]]
    for one in remaining:
        typer.echo(f"warning: {described(one)} is still there: {one['reason']}", err=True)
    if remaining:
        raise typer.Exit(1)


def described(acl: dict[str, str]) -> str:
    """Return an ACL in one line."""
    kind, pattern, name, principal, host, operation, permission = _cells(acl)
    shown = f"{name}..." if pattern == "PREFIXED" else name
    return f"{permission} {principal} at {host}: {operation} {kind} {shown}"


def enumerated(word: str) -> str:
    """Return a word of Kafka's tools, such as `DescribeConfigs` or `describe-configs`, as the API writes it."""
    return _NEW_WORD.sub("_", word).replace("-", "_").upper()


def warn_if_unused(answer: Any) -> None:
    """Say that ACLs decide nothing yet, where that is so."""
    if answer["acls"] and not answer["is_enforced"]:
        tenant = answer["namespace"].partition(":")[0]
        typer.echo(
            f"warning: {tenant} has no section acls in the configuration: ACLs decide nothing", err=True
        )


def _cells(acl: dict[str, str]) -> tuple[str, ...]:
    keys = ("resource_type", "pattern_type", "name", "principal", "host", "operation", "permission")
    return tuple(acl[key] for key in keys)
