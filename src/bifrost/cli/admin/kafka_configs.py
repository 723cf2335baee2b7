"""`bifrost kafka-configs`: quotas and topic configs of a namespace with the options of Kafka's own tool.

Topics are in `kafka_topic_configs.py`.

Source: org.apache.kafka.tools ConfigCommand; KIP-546 for what it says of quotas.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from bifrost.cli.admin.api_client import ApiClient
from bifrost.cli.admin.kafka_topic_configs import alter_topic, describe_topics
from bifrost.cli.admin.options import JsonOption, end, print_json, with_client

ENTITY_TYPES = {"users": "user", "clients": "client-id"}
"""Kafka's tool's words for kinds of entities, and those of the API."""

TOPICS = "topics"
OF_NO_NAMESPACE = ("brokers", "broker-loggers", "ips", "client-metrics", "groups")
"""Types of Kafka's tool whose configs the admin API does not have: they belong to the cluster, or to clients."""

_SHOWN = {"user": "user-principal", "client-id": "client-id"}

_NAMES = "bifrost.entity_names"

_ANY = object()
"""In place of a name: every entity of the kind."""

Entity = dict[str, Any]
"""By the API's kind: a name, None for the default, or `_ANY`."""


def _note(ctx: typer.Context, param: typer.CallbackParam, value: Any) -> Any:
    """Remember in which order the options came: names belong to the types in the same order."""
    for one in value if isinstance(value, list | tuple) else [None] if value else ():
        ctx.meta.setdefault(_NAMES, []).append(one)
    return value


EntityNameOption = Annotated[
    list[str] | None,
    typer.Option("--entity-name", help="A topic, a user or a client ID.", callback=_note),
]
EntityDefaultOption = Annotated[
    bool, typer.Option("--entity-default", help="All that have no quota of their own.", callback=_note)
]
AddConfigOption = Annotated[
    list[str] | None,
    typer.Option(
        "--add-config",
        metavar="KEY=VALUE,...",
        help="Set quotas or configs, such as producer_byte_rate=1024 or cleanup.policy=[compact,delete].",
    ),
]
DeleteConfigOption = Annotated[
    list[str] | None, typer.Option("--delete-config", metavar="KEY,...", help="Remove quotas or configs.")
]


@with_client
def kafka_configs(
    ctx: typer.Context,
    api: ApiClient,
    namespace: Annotated[
        str, typer.Option("--namespace", help="The tenant and its tiers, such as acme:analytics:eu.")
    ],
    describe: Annotated[bool, typer.Option("--describe", help="Describe quotas or configs.")] = False,
    alter: Annotated[bool, typer.Option("--alter", help="Change quotas or configs of one entity.")] = False,
    entity_type: Annotated[
        list[str] | None,
        typer.Option("--entity-type", help="topics; or users or clients, or both one after the other."),
    ] = None,
    entity_name: EntityNameOption = None,
    entity_default: EntityDefaultOption = False,
    topic: Annotated[str | None, typer.Option("--topic", help="A topic.")] = None,
    user: Annotated[str | None, typer.Option("--user", help="A user.")] = None,
    user_defaults: Annotated[bool, typer.Option("--user-defaults", help="The default user.")] = False,
    client: Annotated[str | None, typer.Option("--client", help="A client ID.")] = None,
    client_defaults: Annotated[
        bool, typer.Option("--client-defaults", help="The default client ID.")
    ] = False,
    add_config: AddConfigOption = None,
    delete_config: DeleteConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Describe and alter quotas and topic configs of a namespace with the options of kafka-configs.sh."""
    if describe == alter:
        end("give exactly one of --describe and --alter", 2)
    if describe and (add_config or delete_config):
        end("--add-config and --delete-config go with --alter", 2)
    types, names = entity_type or [], ctx.meta.get(_NAMES, [])
    if topic is not None or TOPICS in types:
        has_others = user is not None or user_defaults or client is not None or client_defaults
        name = _topic_of(types, names, topic, has_others=has_others)
        if describe:
            describe_topics(api, namespace, name, as_json=as_json)
        elif name is None:
            end("which topic? Add --entity-name to --entity-type topics", 2)
        else:
            alter_topic(api, namespace, name, add_config or [], delete_config or [], as_json=as_json)
        return
    entity = _of_types(types, names)
    for kind, name, is_default in (("user", user, user_defaults), ("client-id", client, client_defaults)):
        if (name is not None) + is_default + (kind in entity) > 1:
            end(f"the {kind} is named twice", 2)
        if name is not None or is_default:
            entity[kind] = name
    if alter:
        values = _values(add_config or [], delete_config or [])
        _alter(api, namespace, entity, values, as_json=as_json)
    else:
        _describe(api, namespace, entity, as_json=as_json)


def _topic_of(
    types: list[str], names: list[str | None], topic: str | None, *, has_others: bool
) -> str | None:
    """Return the one topic that is meant; None: all."""
    if has_others or any(one != TOPICS for one in types):
        end("topics have no quotas: --topic and --entity-type topics stand alone", 2)
    if len(types) + (topic is not None) > 1 or len(names) > len(types):
        end("name one topic, by --topic, or by --entity-type topics and --entity-name", 2)
    if None in names:
        end("topics have no --entity-default: bifrost namespaces configs sets what they inherit", 2)
    return names[0] if names else topic


def _of_types(types: list[str], names: list[str | None]) -> Entity:
    if len(names) > len(types):
        end("each --entity-name and --entity-default needs its --entity-type", 2)
    entity: Entity = {}
    for number, one in enumerate(types):
        kind = ENTITY_TYPES.get(one)
        if one in OF_NO_NAMESPACE:
            end(
                f"--entity-type {one}: their configs do not belong to a namespace, and stay Kafka's own tool's",
                2,
            )
        if kind is None:
            end(f"--entity-type {one}: a namespace has topics, and quotas of users and clients", 2)
        if kind in entity:
            end(f"--entity-type {one} is there twice", 2)
        entity[kind] = names[number] if number < len(names) else _ANY
    return entity


def _values(added: list[str], deleted: list[str]) -> dict[str, float | None]:
    values: dict[str, float | None] = {}
    for one in ",".join(added).split(",") if added else ():
        key, _, text = one.strip().partition("=")
        try:
            values[key] = float(text)
        except ValueError:
            end(f"--add-config {one.strip()!r} is no KEY=VALUE with a number", 2)
    for one in ",".join(deleted).split(",") if deleted else ():
        values[one.strip()] = None
    if not values:
        end("nothing to change: give --add-config KEY=VALUE or --delete-config KEY", 2)
    return values


def _alter(
    api: ApiClient, namespace: str, entity: Entity, values: Mapping[str, float | None], *, as_json: bool
) -> None:
    if not entity or _ANY in entity.values():
        end("whose quota? Add --entity-name or --entity-default to each --entity-type", 2)
    body = {"namespace": namespace, "alterations": [{"entity": entity, "values": values}]}
    answer = api.ask("POST", "quotas", body=body).body
    if as_json:
        print_json(answer)
        return
    typer.echo(f"Completed updating config for {_described(entity)}.")


def _describe(api: ApiClient, namespace: str, entity: Entity, *, as_json: bool) -> None:
    answer = api.get("quotas", namespace=namespace).body
    found = [one for one in answer["quotas"] if _matches(entity, one["entity"])]
    if as_json:
        print_json({**answer, "quotas": found})
        return
    for one in found:
        values = ", ".join(f"{key}={value}" for key, value in sorted(one["values"].items()))
        typer.echo(f"Quota configs for {_described(one['entity'])} are {values}")


def _matches(wanted: Entity, found: Mapping[str, str | None]) -> bool:
    """Whether an entity has the kinds that are asked for and no others; all, if none is."""
    if not wanted:
        return True
    return wanted.keys() == found.keys() and all(
        name is _ANY or name == found[kind] for kind, name in wanted.items()
    )


def _described(entity: Mapping[str, str | None]) -> str:
    """Return an entity as Kafka's tool prints it."""
    return ", ".join(
        f"the default {_SHOWN[kind]}" if name is None else f"{_SHOWN[kind]} '{name}'"
        for kind, name in sorted(entity.items(), reverse=True)
    )
