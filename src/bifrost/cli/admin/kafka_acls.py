"""`bifrost kafka-acls`: ACLs of a namespace with the options of Kafka's own tool, by the admin API.

Source: org.apache.kafka.tools.AclCommand; the operations of --producer and --consumer are those that it adds.
"""

from dataclasses import dataclass
from typing import Annotated

import typer

from bifrost.cli.admin.acls import (
    CLUSTER_NAME,
    ClusterOption,
    GroupOption,
    OperationOption,
    TopicOption,
    TransactionalIdOption,
    create_acls,
    delete_acls,
    entries,
    enumerated,
    print_deleted,
    resources,
    warn_if_unused,
)
from bifrost.cli.admin.api_client import ApiClient
from bifrost.cli.admin.options import JsonOption, end, print_json, with_client

PATTERN_TYPES = ("literal", "prefixed", "match", "any")
STORED_PATTERN_TYPES = PATTERN_TYPES[:2]

_PRODUCER = {"TOPIC": ("Write", "Describe", "Create"), "TRANSACTIONAL_ID": ("Write", "Describe")}
_CONSUMER = {"TOPIC": ("Read", "Describe"), "GROUP": ("Read",)}
_IDEMPOTENT = "IdempotentWrite"

Resource = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the options say."""

    resources: list[Resource]
    pattern_type: str
    allowed: list[str]
    denied: list[str]
    allowed_hosts: list[str]
    denied_hosts: list[str]
    operations: dict[str, list[str]]
    """By the kind of resource."""

    def entries(self) -> list[dict[str, str]]:
        """Return the ACLs that are meant."""
        found = []
        for permission, principals, hosts in (
            ("ALLOW", self.allowed, self.allowed_hosts),
            ("DENY", self.denied, self.denied_hosts),
        ):
            for kind, name in self.resources:
                found += entries(
                    [(kind, name)],
                    principals,
                    hosts or ["*"],
                    self.operations[kind],
                    pattern_type=self.pattern_type.upper(),
                    permission=permission,
                )
        return found


@with_client
def kafka_acls(
    api: ApiClient,
    namespace: Annotated[
        str, typer.Option("--namespace", help="The tenant and its tiers, such as acme:analytics:eu.")
    ],
    add: Annotated[bool, typer.Option("--add", help="Create ACLs.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List ACLs.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Delete ACLs.")] = False,
    allow_principal: Annotated[
        list[str] | None, typer.Option("--allow-principal", help="Who may, such as User:alice.")
    ] = None,
    deny_principal: Annotated[list[str] | None, typer.Option("--deny-principal", help="Who may not.")] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option("--allow-host", help="From where it may. Default: everywhere.")
    ] = None,
    deny_host: Annotated[
        list[str] | None, typer.Option("--deny-host", help="From where it may not. Default: anywhere.")
    ] = None,
    operation: OperationOption = None,
    topic: TopicOption = None,
    group: GroupOption = None,
    transactional_id: TransactionalIdOption = None,
    cluster: ClusterOption = False,
    resource_pattern_type: Annotated[
        str,
        typer.Option(
            "--resource-pattern-type", help="literal or prefixed; to list and remove also match, any."
        ),
    ] = "literal",
    principal: Annotated[
        list[str] | None, typer.Option("--principal", help="With --list: only those about this one.")
    ] = None,
    producer: Annotated[bool, typer.Option("--producer", help="What a producer needs.")] = False,
    consumer: Annotated[bool, typer.Option("--consumer", help="What a consumer needs.")] = False,
    idempotent: Annotated[bool, typer.Option("--idempotent", help="What an idempotent one needs.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Ask nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Administer ACLs of a namespace with the options of kafka-acls.sh."""
    if add + list_ + remove != 1:
        end("give exactly one of --add, --list and --remove", 2)
    pattern = _pattern_type(resource_pattern_type, STORED_PATTERN_TYPES if add else PATTERN_TYPES)
    named = resources(topic, group, transactional_id, cluster=cluster)
    if list_:
        _list(api, namespace, named, pattern, principal or [], as_json=as_json)
        return
    asked = _Asked(
        [*named, ("CLUSTER", CLUSTER_NAME)] if idempotent and not cluster else named,
        pattern,
        allow_principal or [],
        deny_principal or [],
        allow_host or [],
        deny_host or [],
        _operations(operation, producer=producer, consumer=consumer, idempotent=idempotent),
    )
    _check(asked, producer=producer, consumer=consumer)
    _change(api, namespace, asked, is_added=add, is_forced=force, as_json=as_json)


def _pattern_type(given: str, known: tuple[str, ...]) -> str:
    if given.lower() not in known:
        end(f"--resource-pattern-type {given}: what is added is literal or prefixed", 2)
    return given.lower()


def _check(asked: _Asked, *, producer: bool, consumer: bool) -> None:
    kinds = {kind for kind, _ in asked.resources}
    if not kinds:
        end("about what? Add --topic, --group, --transactional-id or --cluster", 2)
    if (producer or consumer) and "TOPIC" not in kinds:
        end("--producer and --consumer need --topic", 2)
    if consumer and "GROUP" not in kinds:
        end("--consumer needs --group", 2)
    unused = [kind for kind in sorted(kinds) if not asked.operations[kind]]
    if unused:
        end(f"--producer and --consumer need nothing of {unused[0]}: leave it out", 2)


def _operations(
    given: list[str] | None, *, producer: bool, consumer: bool, idempotent: bool
) -> dict[str, list[str]]:
    """Return the operations of each kind of resource."""
    found: dict[str, list[str]] = {}
    for kind in ("TOPIC", "GROUP", "TRANSACTIONAL_ID", "CLUSTER"):
        some = list(_PRODUCER.get(kind, ())) if producer else []
        some += _CONSUMER.get(kind, ()) if consumer else ()
        if kind == "CLUSTER" and idempotent:
            some.append(_IDEMPOTENT)
        is_convenience = producer or consumer or (idempotent and kind == "CLUSTER")
        found[kind] = list(dict.fromkeys(some)) if is_convenience else (given or ["All"])
    return found


def _change(
    api: ApiClient, namespace: str, asked: _Asked, *, is_added: bool, is_forced: bool, as_json: bool
) -> None:
    if not is_added:
        _remove(api, namespace, asked, is_forced=is_forced, as_json=as_json)
        return
    wanted = asked.entries()
    if not wanted:
        end("for whom? Add --allow-principal or --deny-principal", 2)
    create_acls(api, namespace, wanted, as_json=as_json)


def _remove(api: ApiClient, namespace: str, asked: _Asked, *, is_forced: bool, as_json: bool) -> None:
    pattern = None if asked.pattern_type == "any" else asked.pattern_type.upper()
    queries: list[dict[str, str | None]] = [{**one, "pattern_type": pattern} for one in asked.entries()]
    if not queries:  # As Kafka's tool: all that is about these resources.
        queries = [
            {"resource_type": kind, "name": name, "pattern_type": pattern} for kind, name in asked.resources
        ]
        shown = ", ".join(f"{kind} {name}" for kind, name in asked.resources)
        if not is_forced:
            typer.confirm(f"Delete all ACLs about {shown}?", abort=True, err=True)
    print_deleted([delete_acls(api, namespace, one) for one in queries], as_json=as_json)


def _list(
    api: ApiClient,
    namespace: str,
    named: list[Resource],
    pattern: str,
    principals: list[str],
    *,
    as_json: bool,
) -> None:
    some: list[Resource] | list[tuple[None, None]] = named or [(None, None)]
    whose: list[str] | list[None] = principals or [None]
    queries: list[dict[str, str | None]] = [
        {
            "resource_type": kind,
            "name": name,
            "pattern_type": None if pattern == "any" else enumerated(pattern),
            "principal": principal,
        }
        for kind, name in some
        for principal in whose
    ]
    if not named:
        for query in queries:  # Kafka's tool lists all then, of every pattern.
            query["pattern_type"] = None
    for query in queries:
        answer = api.get("acls", namespace=namespace, **query).body
        if as_json:
            print_json(answer)
            continue
        _print(answer["acls"])
        warn_if_unused(answer)


def _print(acls: list[dict[str, str]]) -> None:
    """Print ACLs as Kafka's tool does."""
    resource = None
    for one in acls:
        found = (one["resource_type"], one["name"], one["pattern_type"])
        if found != resource:
            resource = found
            shown = "ResourcePattern(resourceType={}, name={}, patternType={})".format(*found)
            typer.echo(f"Current ACLs for resource `{shown}`:")
        fields = ("principal", "host", "operation")
        said = ", ".join(f"{field}={one[field]}" for field in fields)
        typer.echo(f" \t({said}, permissionType={one['permission']})")
