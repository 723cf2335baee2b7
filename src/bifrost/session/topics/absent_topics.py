"""Metadata that may create topics: finds out first which of the named topics exist.

A broker creates topics that Metadata names and that do not exist, if the request allows it (`allow.auto.create.topics`
of a consumer, every producer) and the broker does (`auto.create.topics.enable`). So a tenant could create any number of
topics by naming them. Names that were seen to exist pass in the engine (Namespace.is_existing). About others the
gateway asks the broker first, by a request that creates nothing:

    client: Metadata of a, b ──▶ held     Metadata of a, b, creating nothing ──▶ broker
                                          a is there, b is not ◀──
                        may the tenant have one topic more?  (tenancy/topic_bounds.py)
                            held frame ──▶ Metadata of a, b ──▶ the same broker
    client: answer          ◀───────────── the answer to that

After that the names are known, for every connection of the tenant.
"""

from typing import Any

from bifrost.filters.plan import Plan
from bifrost.filters.topics.automatic_creation import CAN_FORBID_CREATION, may_create
from bifrost.forwarding.lane import Awaited, Lane
from bifrost.session.in_flight import Buffer, InFlight
from bifrost.session.topics.inquiry import Inquiry
from bifrost.tenancy.names import PhysicalTopic, VirtualTopic
from bifrost.tenancy.namespace import Namespace
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import decode, release
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.headers import response_body_offset
from bifrost.wire.messages import MetadataRequest
from bifrost.wire.programs import compile_layout
from bifrost.wire.schema import response_schema
from bifrost.wire.steps import in_steps


class AbsentTopics(Inquiry):
    """Finds out which topics a request of one session would create, if it may create any."""

    __slots__ = ("_found", "_wanted")

    def __init__(self, namespace: Namespace, in_flight: InFlight) -> None:
        """Begin without an inquiry."""
        super().__init__(namespace, in_flight)
        self._wanted: list[str] = []
        self._found: list[str] | None = None

    def begin(self, plan: Plan, lane: Lane, request: Any, frame: Buffer) -> list[Buffer]:
        """Return the frames to send to the broker before this decoded request; none when the request can go on.

        Otherwise give the request again when `is_under_way` has ended.
        """
        is_asked = self._found is not None or self._namespace.bounds is None
        if is_asked or not may_create(plan, request):
            return []
        self._wanted = _unknown(self._namespace, request)
        if not self._wanted:
            return []
        self._begin(lane, frame)
        topics = [
            MetadataRequest.MetadataRequestTopic(name=self._namespace.physical_name(one).decode())
            for one in in_steps(self._wanted)
        ]
        version = max(CAN_FORBID_CREATION, plan.api_version)
        return self._ask(MetadataRequest(topics=topics, allow_auto_topic_creation=False), version)

    @property
    def found(self) -> list[str]:
        """The virtual names of the topics that the request at hand would create."""
        return self._found or []

    def forget(self) -> None:
        """Forget them: the request at hand is done."""
        self._found = None

    def receive(self, frame: Buffer, awaited: Awaited) -> list[Buffer]:
        """Take the broker's answer.

        Raises:
            WireError: the answer could not be read.
        """
        version = max(CAN_FORBID_CREATION, awaited.lane.plan.api_version)
        offset, _ = response_body_offset(
            frame, response_schema(ApiKey.METADATA).response_header_version(version) >= 1
        )
        layout = compile_layout("MetadataResponse", version)
        response: Any = decode(layout, frame, offset)
        namespace = self._namespace
        absent = set()
        for topic in in_steps(response.topics):
            name = namespace.names.virtual_topic(PhysicalTopic((topic.name or "").encode()))
            if name is None:
                continue  # The broker names a topic that was not asked for.
            if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                absent.add(name.decode())
            elif topic.error_code in (ErrorCode.NONE, ErrorCode.LEADER_NOT_AVAILABLE):
                namespace.topic_exists(name)
        release(layout, response)
        self._found = [name for name in in_steps(self._wanted) if name in absent]
        self._answered(awaited)
        return []


def _unknown(namespace: Namespace, request: Any) -> list[str]:
    """Return the topics that a request names and that the gateway has not seen to exist."""
    names = dict.fromkeys(topic.name for topic in in_steps(request.topics) if topic.name is not None)
    return [
        name
        for name in in_steps(names)
        if not namespace.is_existing(topic := VirtualTopic(name.encode()))
        and namespace.names.is_allowed(topic)
    ]
