"""`bifrost kafka-configs` for topics of a namespace: the configs that are set for them, by the admin API.

Quotas, the other half of the command, are in `kafka_configs.py`.

Source: org.apache.kafka.tools ConfigCommand: how values are written, and what is printed.
"""

import re
from collections.abc import Sequence
from typing import Any

import typer

from bifrost.cli.admin.api_client import ApiClient
from bifrost.cli.admin.options import end, print_json

_BETWEEN_CONFIGS = re.compile(r",(?=[^\]]*(?:\[|$))")
"""A comma that is not within brackets: `cleanup.policy=[compact,delete],retention.ms=1` are two configs."""


def describe_topics(api: ApiClient, namespace: str, topic: str | None, *, as_json: bool) -> None:
    """Print the configs that are set for a topic of a namespace; None: for each that it owns or sees."""
    found = api.get("namespaces", namespace, "topics").body["topics"]
    if topic is not None:
        found = [one for one in found if _name(one) == topic]
        if not found:
            end(f"topic {namespace}/{topic} does not exist", 1)
    if as_json:
        print_json({"topics": found})
        return
    for one in found:
        typer.echo(f"Dynamic configs for topic {_name(one)} are:")
        for config, value in sorted(one["configs"].items()):
            typer.echo(f"  {config}={value}")


def alter_topic(
    api: ApiClient,
    namespace: str,
    topic: str,
    added: Sequence[str],
    deleted: Sequence[str],
    *,
    as_json: bool,
) -> None:
    """Set and remove configs of a topic; one that is removed is inherited again."""
    removed = [one.strip() for one in ",".join(deleted).split(",") if one.strip()]
    body = {"set": read_configs(added), "remove": removed}
    if not any(body.values()):
        end("nothing to change: give --add-config KEY=VALUE or --delete-config KEY", 2)
    answer = api.ask("POST", "namespaces", namespace, "topics", topic, "configs", body=body).body
    if as_json:
        print_json(answer)
    else:
        typer.echo(f"Completed updating config for topic {topic}.")


def read_configs(added: Sequence[str]) -> dict[str, str]:
    """Return the configs that options set; a value with commas stands in brackets."""
    values = {}
    for one in _BETWEEN_CONFIGS.split(",".join(added)) if added else ():
        config, equals, value = one.strip().partition("=")
        if not config or not equals:
            end(f"--add-config {one.strip()!r} is no KEY=VALUE", 2)
        is_list = value.startswith("[") and value.endswith("]")
        values[config] = value[1:-1] if is_list else value
    return values


def _name(topic: dict[str, Any]) -> str:
    return str(topic["topic"]).partition("/")[2]
