"""What a session tells the journal: its client, requests that the gateway answered itself, denials, changes.

Nothing here decides what happens to a message, and without a journal nothing is done.
"""

from collections.abc import Sequence
from typing import Any

from bifrost.filters.api_versions import is_valid
from bifrost.filters.filter import Exchange, Note, Scope
from bifrost.filters.plan import Plan
from bifrost.filters.refused import RefusedFilter
from bifrost.forwarding.lane import Awaited, Lane
from bifrost.journal.admin_operations import ADMIN_APIS, Operation, operations, topic_id_of
from bifrost.journal.identity import UNNAMED, Identity, Software
from bifrost.journal.meter import Meter
from bifrost.journal.rows import api_name, error_name
from bifrost.journal.topic_names import TopicNames
from bifrost.session.authentication import Proven
from bifrost.session.session_lanes import SessionLanes
from bifrost.session.shared_state import SharedState
from bifrost.session.virtual_clusters import VirtualCluster
from bifrost.tenancy.names import VirtualGroup, VirtualTopic
from bifrost.tenancy.namespace import Namespace
from bifrost.wire import headers
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import decode, release
from bifrost.wire.errors import WireError
from bifrost.wire.programs import compile_layout
from bifrost.wire.steps import in_steps

MAX_TOLD_BYTES = 1024 * 1024
"""A request to change things is decoded once more for its event; for a larger request the event has no details."""

EVENT_ROUNDS = 32
"""Rounds that the event of an item stands for: to write it takes some 20 us."""

About = tuple[str | None, Software]
"""A client's address and the software that it names."""

UNKNOWN: About = (None, UNNAMED)

_NAMED_SOFTWARE = 3
"""ApiVersions version from which clients name their software (KIP-511)."""

FOREIGN_FETCH_SESSION = "foreign_fetch_session"
"""The rule that no Fetch may continue another namespace's session."""

_CHANGE: Note[tuple[bytes, int]] = Note("change")
"""The frame of a request to change things, and where its body begins; empty when it is too large to be told."""


def new_meter(
    shared: SharedState, proven: Proven, cluster: VirtualCluster, address: str | None, software: Software
) -> Meter | None:
    """Begin to count for a client that has proved who it is, and write that down; None without a journal."""
    if shared.journal is None:
        return None
    account, namespace = proven.account, cluster.namespace
    identity = Identity(
        account.tenant, cluster.upstream, namespace.path, f"User:{account.username}", None, software
    )
    meter = Meter(shared.journal, identity, TopicNames(namespace), address)
    # Without SASL the listener identifies its clients, by their certificates or by their connecting to it.
    meter.event("authentication", "success", mechanism=str(proven.mechanism or "LISTENER"))
    return meter


def about(shared: SharedState, known: About, api_key: int, frame: bytes | memoryview) -> About:
    """Return what is known of a client after a frame of its authentication."""
    if shared.journal is None or api_key != ApiKey.API_VERSIONS:
        return known
    return known[0], software_in(frame) or known[1]


def software_in(frame: bytes | memoryview) -> Software | None:
    """Return the software that a client names in an ApiVersions request; None when Kafka would not accept it."""
    header = headers.read_request_header(frame)
    if header.api_key != ApiKey.API_VERSIONS or not _NAMED_SOFTWARE <= header.api_version <= 4:
        return None
    offset, _ = headers.request_body_offset(frame, header.client_id_length, is_flexible=True)
    try:
        request: Any = decode(compile_layout("ApiVersionsRequest", header.api_version), frame, offset)
    except WireError:
        return None
    if not is_valid(request):
        return None
    return Software(request.client_software_name, request.client_software_version)


def prove_again(meter: Meter | None, proven: Proven) -> None:
    """Write down that a client has authenticated again on its connection."""
    if meter is not None:
        meter.event("authentication", "success", mechanism=str(proven.mechanism), detail="again")


def note_own(
    meter: Meter | None,
    lanes: SessionLanes,
    header: headers.RequestHeader,
    lane: Lane | None,
    frame: bytes | memoryview,
) -> None:
    """Note the client's software, or that an API is not served, from a request that the gateway answers itself."""
    if meter is None:
        return
    if lane is None:
        name = f"{header.api_key} v{header.api_version}"
        meter.event("denial", "denied", resource_type="api", resource_name=name, rule="not_served")
    elif header.api_key == ApiKey.API_VERSIONS:
        software = software_in(frame)
        if software is not None and meter.name(software):
            lanes.forget()


def count_own_answer(
    meter: Meter | None, namespace: Namespace, lane: Lane | None, frame: bytes | memoryview, answer: bytes
) -> None:
    """Count a request that the gateway itself answered; `answer` is a whole frame with its length."""
    if meter is None or lane is None or lane.usage is None:
        return
    plan, usage = lane.plan, lane.usage
    header = headers.read_request_header(frame)
    offset, _ = headers.request_body_offset(frame, header.client_id_length, plan.request.is_flexible_header)
    usage.count_request(frame, offset)
    usage.answer(len(answer))
    usage.count_response(answer, 8 + plan.response.is_flexible_header, is_physical=False)
    # Of a tenant with ACLs other filters answer some of these APIs.
    if plan.is_refused and isinstance(plan.filters[0], RefusedFilter):
        _deny(meter, plan, "api", None, "not_for_tenants")
    elif plan.api_key in ADMIN_APIS and len(frame) <= MAX_TOLD_BYTES:
        _tell_operations(meter, namespace, plan, (frame, offset), answer)


def deny_fetch_session(meter: Meter | None, plan: Plan, session_id: int) -> None:
    """Write down that a client tried to continue a fetch session of another namespace."""
    if meter is not None:
        _deny(meter, plan, "fetch_session", str(session_id), FOREIGN_FETCH_SESSION)


def _deny(meter: Meter, plan: Plan, kind: str, name: str | None, rule: str) -> None:
    api = api_name(plan.api_key)
    meter.event(
        "denial",
        "denied",
        api=api,
        api_version=plan.api_version,
        resource_type=kind,
        resource_name=name or api,
        rule=rule,
    )


def keep_change(
    meter: Meter | None, plan: Plan, scope: Scope, frame: bytes | memoryview, offset: int
) -> Exchange | None:
    """Keep a request to change things until its answer comes; None for other requests."""
    if meter is None or plan.api_key not in ADMIN_APIS:
        return None
    exchange = Exchange(plan.api_key, plan.api_version, scope)
    exchange.keep(_CHANGE, (bytes(frame), offset) if len(frame) <= MAX_TOLD_BYTES else (b"", 0))
    return exchange


def count_answer(
    meter: Meter | None,
    namespace: Namespace,
    awaited: Awaited,
    physical: tuple[bytes | memoryview, int] | None,
    answer: Sequence[bytes | memoryview],
) -> None:
    """Count a broker's answer, and write down the result of a change.

    Args:
        meter: of the connection; None without a journal.
        namespace: whose names the client uses.
        awaited: the request that is answered.
        physical: the broker's frame and where its body begins, if the client gets all that is in it.
        answer: the frame for the client, with its length.
    """
    if meter is None:
        return
    plan, usage, exchange = awaited.lane.plan, awaited.lane.usage, awaited.exchange
    body = 8 + plan.response.is_flexible_header
    if usage is not None and physical is not None:
        usage.count_response(*physical, is_physical=True)
    elif usage is not None:
        usage.count_response(answer[0], body, is_physical=False)
    kept = None if exchange is None else exchange.find(_CHANGE)
    if kept is None:
        return
    if kept[0]:
        _tell_operations(meter, namespace, plan, kept, b"".join(answer))
        return
    detail = f"a request of more than {MAX_TOLD_BYTES} bytes"
    meter.event("admin", "unknown", api=api_name(plan.api_key), api_version=plan.api_version, detail=detail)


def _tell_operations(
    meter: Meter, namespace: Namespace, plan: Plan, request: tuple[bytes | memoryview, int], answer: bytes
) -> None:
    """Write down what a request changed, one event per item; `request` is a frame and where its body begins."""
    asked = decode(plan.request.layout, *request)
    answered = decode(plan.response.layout, answer, 8 + plan.response.is_flexible_header)
    for one in in_steps(operations(plan.api_key, asked, answered), EVENT_ROUNDS):
        name, physical = _names(namespace, one)
        meter.change(
            physical,
            one.after,
            is_done=not one.error_code,
            is_topic=one.resource_type == "topic",
            is_deleted=plan.api_key == ApiKey.DELETE_TOPICS,
            told_before=one.before or None,
            api=api_name(plan.api_key),
            api_version=plan.api_version,
            resource_type=one.resource_type,
            resource_name=name or topic_id_of(one),
            error_code=error_name(one.error_code),
        )
    release(plan.request.layout, asked)
    release(plan.response.layout, answered)


def _names(namespace: Namespace, operation: Operation) -> tuple[str | None, str | None]:
    """Return the virtual and the physical name of the changed item."""
    name, names = operation.name, namespace.names
    if name is None and operation.topic_id is not None:
        name = namespace.topic_of(operation.topic_id)
    if name is None:
        return None, None
    raw = name.encode("utf-8", "surrogatepass")
    if operation.resource_type == "topic":
        return name, names.physical_topic(VirtualTopic(raw)).decode("utf-8", "replace")
    if operation.resource_type == "group":
        return name, names.physical_group(VirtualGroup(raw)).decode("utf-8", "replace")
    return name, None
