"""`bifrost kafka-topics`: namespaces and their topics with the options of KIP-37 and of Kafka's tool, by the admin API.

Without --topic it is about namespaces, as KIP-37 has it; with --topic, or with --topics to list, about their topics.
"""

from typing import Annotated

import typer

from bifrost.cli.admin.api_client import ApiClient
from bifrost.cli.admin.namespaces import create_namespace, delete_namespace, list_namespaces
from bifrost.cli.admin.options import JsonOption, end, with_client
from bifrost.cli.admin.topics import (
    ConfigOption,
    PartitionsOption,
    ReplicationOption,
    create_topic,
    delete_topic,
    list_topics,
    move_topic,
)

VERBS = ("create", "list", "move", "delete")


NamespaceOption = Annotated[
    str | None, typer.Option("--namespace", help="The tenant and its tiers, such as acme:analytics:eu.")
]
TopicOption = Annotated[str | None, typer.Option("--topic", help="A topic of the namespace.")]
CreateOption = Annotated[
    bool, typer.Option("--create", help="Create the topic, or the namespace with every tier that is missing.")
]
ListOption = Annotated[
    bool, typer.Option("--list", help="List the namespaces below the namespace; without it all.")
]
TopicsOption = Annotated[bool, typer.Option("--topics", help="With --list: the topics of the namespace.")]
MoveOption = Annotated[bool, typer.Option("--move", help="Move the topic to another namespace.")]
ToOption = Annotated[
    str | None, typer.Option("--to", help="With --move: the namespace that owns it from then on.")
]
DeleteOption = Annotated[
    bool, typer.Option("--delete", help="Delete the topic, or the namespace with its topics.")
]
RecursiveOption = Annotated[
    bool, typer.Option("--recursive", help="With --delete and --list --topics: also what is nested below it.")
]


@with_client
def kafka_topics(
    api: ApiClient,
    namespace: NamespaceOption = None,
    topic: TopicOption = None,
    create: CreateOption = False,
    list_: ListOption = False,
    topics: TopicsOption = False,
    move: MoveOption = False,
    to: ToOption = None,
    delete: DeleteOption = False,
    recursive: RecursiveOption = False,
    partitions: PartitionsOption = None,
    replication_factor: ReplicationOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create, list, move and delete namespaces and their topics, with the options of KIP-37."""
    done = [word for word, is_given in zip(VERBS, (create, list_, move, delete), strict=True) if is_given]
    verb = done[0] if len(done) == 1 else end("give exactly one of --create, --list, --move and --delete", 2)
    sizes = (partitions, replication_factor, config)
    mistake = _mistake(verb, topic, to, topics=topics, recursive=recursive, has_sizes=any(sizes))
    if mistake is not None:
        end(mistake, 2)
    if verb == "list" and not topics:
        list_namespaces(api, namespace, as_json=as_json)
        return
    if namespace is None:
        end("which namespace? Add --namespace, such as acme:analytics:eu", 2)
    place = f"{namespace}/{topic}"
    match verb, topic is not None:
        case "list", _:
            list_topics(api, namespace, recursive=recursive, as_json=as_json)
        case "move", _:
            move_topic(api, place, str(to), None, keep_name=False, as_json=as_json)
        case "create", True:
            create_topic(api, place, *sizes, dry_run=False, as_json=as_json)
        case "create", False:
            create_namespace(api, namespace, as_json=as_json)
        case "delete", True:
            delete_topic(api, place, as_json=as_json)
        case _:
            delete_namespace(api, namespace, recursive=recursive, dry_run=False, as_json=as_json)


def _mistake(
    verb: str, topic: str | None, to: str | None, *, topics: bool, recursive: bool, has_sizes: bool
) -> str | None:
    """Return which options do not go together; None: all do."""
    is_namespace_deleted = verb == "delete" and topic is None
    if topics and verb != "list":
        return "--topics goes with --list"
    if topic is not None and verb == "list":
        return "--topic does not go with --list: --topics lists all of a namespace"
    if (verb == "move") != (to is not None) or (verb == "move" and topic is None):
        return "--move goes with --topic and --to"
    if recursive and not topics and not is_namespace_deleted:
        return "--recursive goes with --delete of a namespace, and with --list --topics"
    if has_sizes and (verb != "create" or topic is None):
        return "--partitions, --replication-factor and --config go with --create --topic"
    return None
