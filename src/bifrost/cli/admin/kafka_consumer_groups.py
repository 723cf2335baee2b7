"""`bifrost kafka-consumer-groups`: consumer groups of a namespace with the options of Kafka's own tool.

It is a client of the admin API. What the API does not do is refused (`--delete-offsets`, `--by-duration`, ...): Kafka's
own tool does it, as a client of the tenant.

Source: org.apache.kafka.tools.consumer.group ConsumerGroupCommand.
"""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from bifrost.cli.admin.api_client import ApiClient
from bifrost.cli.admin.options import JsonOption, end, print_json, print_table, with_client

VERBS = ("list", "describe", "delete", "reset-offsets")
FIXED_TARGETS: tuple[dict[str, Any], ...] = ({"to": "earliest"}, {"to": "latest"}, {"shift_by": 0})
"""--to-earliest, --to-latest and --to-current, as the API has them."""

NamespaceOption = Annotated[
    str, typer.Option("--namespace", help="The tenant and its tiers, such as acme:analytics:eu.")
]
ListOption = Annotated[bool, typer.Option("--list", help="List the groups.")]
DescribeOption = Annotated[
    bool, typer.Option("--describe", help="Show where groups are in their partitions.")
]
DeleteOption = Annotated[bool, typer.Option("--delete", help="Delete groups without members.")]
ResetOption = Annotated[bool, typer.Option("--reset-offsets", help="Set where groups without members go on.")]
GroupOption = Annotated[list[str] | None, typer.Option("--group", help="A group of the namespace.")]
AllGroupsOption = Annotated[bool, typer.Option("--all-groups", help="All of its groups.")]
MembersOption = Annotated[bool, typer.Option("--members", help="With --describe: the members.")]
StateOption = Annotated[bool, typer.Option("--state", help="With --describe and --list: the states.")]
OffsetsOption = Annotated[bool, typer.Option("--offsets", help="With --describe: as without it.")]
TopicOption = Annotated[
    list[str] | None,
    typer.Option(
        "--topic", metavar="TOPIC[:0,1]", help="With --reset-offsets: a topic, or partitions of it."
    ),
]
AllTopicsOption = Annotated[
    bool, typer.Option("--all-topics", help="With --reset-offsets: all that the group has committed.")
]
EarliestOption = Annotated[bool, typer.Option("--to-earliest", help="To the first record.")]
LatestOption = Annotated[bool, typer.Option("--to-latest", help="To the end.")]
CurrentOption = Annotated[bool, typer.Option("--to-current", help="To what is committed.")]
OffsetOption = Annotated[int | None, typer.Option("--to-offset", help="To an offset.")]
DatetimeOption = Annotated[
    str | None,
    typer.Option("--to-datetime", help="To a time, 2026-01-31T23:59:59.999; of UTC without a zone."),
]
ShiftOption = Annotated[
    int | None, typer.Option("--shift-by", help="By a number of offsets; back, if it is negative.")
]
ExecuteOption = Annotated[bool, typer.Option("--execute", help="Change the offsets.")]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Only show them: so it is without --execute too.")
]


@with_client
def kafka_consumer_groups(
    api: ApiClient,
    namespace: NamespaceOption,
    list_: ListOption = False,
    describe: DescribeOption = False,
    delete: DeleteOption = False,
    reset_offsets: ResetOption = False,
    group: GroupOption = None,
    all_groups: AllGroupsOption = False,
    members: MembersOption = False,
    state: StateOption = False,
    offsets: OffsetsOption = False,
    topic: TopicOption = None,
    all_topics: AllTopicsOption = False,
    to_earliest: EarliestOption = False,
    to_latest: LatestOption = False,
    to_current: CurrentOption = False,
    to_offset: OffsetOption = None,
    to_datetime: DatetimeOption = None,
    shift_by: ShiftOption = None,
    execute: ExecuteOption = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """List, describe, delete and reset consumer groups of a namespace with the options of kafka-consumer-groups.sh."""
    done = [one for one, given in zip(VERBS, (list_, describe, delete, reset_offsets), strict=True) if given]
    verb = done[0] if len(done) == 1 else end(f"give exactly one of --{', --'.join(VERBS)}", 2)
    targets = _targets(to_offset, to_datetime, shift_by)
    for is_given, target in zip((to_earliest, to_latest, to_current), FIXED_TARGETS, strict=True):
        targets += [target] if is_given else []
    has_reset = bool(targets or topic or all_topics or execute or dry_run)
    shown = {"members": members, "state": state, "offsets": offsets}
    mistake = _mistake(verb, has_reset=has_reset, **shown, groups=(group, all_groups))
    if mistake is not None:
        end(mistake, 2)
    if verb == "list":
        _list(api, namespace, with_states=state, as_json=as_json)
        return
    wanted = {}
    if verb == "reset-offsets":
        wanted = _reset(targets, topic or [], all_topics=all_topics, execute=execute, dry_run=dry_run)
    for one in group or _all_groups(api, namespace):
        match verb:
            case "reset-offsets":
                _set_back(api, namespace, one, wanted, execute=execute, as_json=as_json)
            case "delete":
                _delete(api, namespace, one, as_json=as_json)
            case _:
                _describe(api, namespace, one, members=members, state=state, as_json=as_json)


def _mistake(
    verb: str,
    *,
    has_reset: bool,
    members: bool,
    state: bool,
    offsets: bool,
    groups: tuple[list[str] | None, bool],
) -> str | None:
    """Return which options do not go together; None: all do."""
    if verb != "reset-offsets" and has_reset:
        return "--topic, --all-topics, --to-..., --shift-by, --execute and --dry-run go with --reset-offsets"
    if (members or offsets) and verb != "describe":
        return "--members and --offsets go with --describe"
    if state and verb not in ("describe", "list"):
        return "--state goes with --describe and --list"
    if members + state + offsets > 1:
        return "give at most one of --members, --offsets and --state"
    named, is_all = groups
    if verb == "list" and (named or is_all):
        return "--list takes no group"
    if verb != "list" and bool(named) == is_all:
        return "which groups? Give --group or --all-groups"
    return None


def _all_groups(api: ApiClient, namespace: str) -> list[str]:
    return [one["group"] for one in api.get("namespaces", namespace, "groups").body["groups"]]


def _list(api: ApiClient, namespace: str, *, with_states: bool, as_json: bool) -> None:
    answer = api.get("namespaces", namespace, "groups").body
    if as_json:
        print_json(answer)
    elif with_states:
        print_table(("GROUP", "STATE"), [(one["group"], one["state"]) for one in answer["groups"]])
    else:
        for one in answer["groups"]:
            typer.echo(one["group"])


def _delete(api: ApiClient, namespace: str, group: str, *, as_json: bool) -> None:
    answer = api.ask("DELETE", "namespaces", namespace, "groups", group).body
    if as_json:
        print_json(answer)
    else:
        typer.echo(f"Deletion of requested consumer groups ('{group}') was successful.")


def _describe(
    api: ApiClient, namespace: str, name: str, *, members: bool, state: bool, as_json: bool
) -> None:
    group = api.get("namespaces", namespace, "groups", name).body
    if as_json:
        print_json(group)
        return
    if state:
        print_table(("GROUP", "STATE", "#MEMBERS"), [(name, group["state"], len(group["members"]))])
    elif members:
        print_table(
            ("GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID"),
            [(name, one["member_id"], one["host"], one["client_id"]) for one in group["members"]],
        )
    else:
        if not group["members"]:
            typer.echo(f"Consumer group '{name}' has no active members.", err=True)
        print_table(
            ("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"),
            [
                (name, one["topic"], one["partition"], one["offset"], one["end_offset"], one["lag"])
                for one in group["offsets"]
            ],
        )


def _targets(to_offset: int | None, to_datetime: str | None, shift_by: int | None) -> list[dict[str, Any]]:
    """Return each way in which the options with values say where to go on, as the API has it."""
    found: list[dict[str, Any]] = [] if to_offset is None else [{"offset": max(to_offset, 0)}]
    found += [] if to_datetime is None else [{"timestamp_ms": _milliseconds(to_datetime)}]
    found += [] if shift_by is None else [{"shift_by": shift_by}]
    return found


def _milliseconds(text: str) -> int:
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        end(f"--to-datetime {text!r} is no time such as 2026-01-31T23:59:59.999", 2)
    return max(round((read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp() * 1000), 0)


def _reset(
    targets: list[dict[str, Any]], topics: list[str], *, all_topics: bool, execute: bool, dry_run: bool
) -> dict[str, Any]:
    """Return the body of a reset without its group."""
    if len(targets) != 1:
        end(
            "give exactly one of --to-earliest, --to-latest, --to-current, --to-offset, --to-datetime, --shift-by",
            2,
        )
    if bool(topics) == all_topics:
        end("give --topic, or --all-topics", 2)
    if execute and dry_run:
        end("give --execute or --dry-run", 2)
    return {**targets[0], **({"topics": dict(map(_partitions, topics))} if topics else {})}


def _partitions(given: str) -> tuple[str, list[int]]:
    """Return a topic and its partitions; a name in a namespace below has colons too, as `eu:orders`."""
    topic, colon, numbers = given.rpartition(":")
    if colon and topic and all(one.isdecimal() for one in numbers.split(",")):
        return topic, [int(one) for one in numbers.split(",")]
    return given, []


def _set_back(
    api: ApiClient, namespace: str, group: str, wanted: dict[str, Any], *, execute: bool, as_json: bool
) -> None:
    query = {"dry_run": not execute}
    answer = api.ask(
        "POST", "namespaces", namespace, "offsets", query=query, body={"group": group, **wanted}
    ).body
    if as_json:
        print_json(answer)
        return
    if not execute:
        typer.echo("nothing was changed: --execute does it", err=True)
    print_table(
        ("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"),
        [(group, one["topic"], one["partition"], one["offset"]) for one in answer["offsets"]],
    )
