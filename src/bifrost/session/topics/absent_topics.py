"""Metadata that may create topics, and Fetch by names: finds out first which of the named topics exist.

A broker creates topics that Metadata names and that do not exist, if the request allows it (`allow.auto.create.topics`
of a consumer, every producer) and the broker does (`auto.create.topics.enable`). So a tenant could create any number of
topics by naming them. Names that were seen to exist pass in the engine (`ExistingTopics`). About others the
gateway asks the broker first, by a request that creates nothing:

    client: Metadata of a, b ──▶ held     Metadata of a, b, creating nothing ──▶ broker
                                          a is there, b is not ◀──
                        may the tenant have one topic more?  (tenancy/topic_bounds.py)
                            held frame ──▶ Metadata of a, b ──▶ the same broker
    client: answer          ◀───────────── the answer to that

After that the names are known, for every connection of the tenant. A Fetch before version 13 is held likewise when it
names a topic for the first time: the broker would keep metrics of the name for good, whether it is a topic's or not
(filters/topics/fetched_names.py).
"""

from collections.abc import Mapping
from typing import Any

from bifrost.filters.plan import Plan
from bifrost.filters.topics.automatic_creation import CAN_FORBID_CREATION, may_create
from bifrost.filters.topics.fetched_names import names_topics
from bifrost.forwarding.lane import Awaited, Lane
from bifrost.session.in_flight import Buffer, InFlight
from bifrost.session.topics.inquiry import Inquiry
from bifrost.tenancy.names import VirtualTopic
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

    __slots__ = ("_found", "_impossible", "_is_fetch", "_wanted")

    def __init__(self, namespace: Namespace, in_flight: InFlight) -> None:
        """Begin without an inquiry."""
        super().__init__(namespace, in_flight)
        self._wanted: list[str] = []
        self._is_fetch = False
        self._impossible: list[str] = []
        """Names in a Fetch that no topic can have: no broker is asked about them."""
        self._found: list[str] | None = None

    def begin(self, plan: Plan, lane: Lane, request: Any, frame: Buffer) -> list[Buffer]:
        """Return the frames to send to the broker before this decoded request; none when the request can go on.

        Otherwise give the request again when `is_under_way` has ended.
        """
        is_asked = self._found is not None or self._namespace.bounds is None
        if is_asked or not (may_create(plan, request) or names_topics(plan)):
            return []
        self._is_fetch = plan.api_key == ApiKey.FETCH
        unknown = (_never_fetched if self._is_fetch else _unknown)(self._namespace, request)
        self._wanted, impossible = [], list[str]()
        for name in in_steps(unknown):
            (self._wanted if self._namespace.may_exist(name) else impossible).append(name)
        self._impossible = impossible if self._is_fetch else []
        if not self._wanted:
            self._found, self._impossible = self._impossible or None, []
            return []
        self._begin(lane, frame)
        topics = [
            MetadataRequest.MetadataRequestTopic(name=self._namespace.physical_name(one).decode())
            for one in in_steps(self._wanted)
        ]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
        return self._ask(request, self._version_of(plan))

    @property
    def found(self) -> list[str]:
        """The virtual names of the topics that the request at hand names and that do not exist."""
        return self._found or []

    def forget(self) -> None:
        """Forget them: the request at hand is done."""
        self._found = None

    def receive(self, frame: Buffer, awaited: Awaited) -> list[Buffer]:
        """Take the broker's answer.

        Raises:
            WireError: the answer could not be read.
        """
        version = self._version_of(awaited.lane.plan)
        offset, _ = response_body_offset(
            frame, response_schema(ApiKey.METADATA).response_header_version(version) >= 1
        )
        layout = compile_layout("MetadataResponse", version)
        response: Any = decode(layout, frame, offset)
        codes = {(topic.name or "").encode(): topic.error_code for topic in in_steps(response.topics)}
        release(layout, response)
        self._found = [
            name for name in in_steps(self._wanted) if self._is_absent(name, codes)
        ] + self._impossible
        self._impossible = []
        self._answered(awaited)
        return []

    def _is_absent(self, name: str, codes: Mapping[bytes, int]) -> bool:
        """Whether the broker says that there is no such topic; remember it if there is."""
        code, topic = codes.get(self._namespace.physical_name(name)), VirtualTopic(name.encode())
        if code in (ErrorCode.NONE, ErrorCode.LEADER_NOT_AVAILABLE):
            self._namespace.existing.add(topic)
            if self._is_fetch:
                self._namespace.existing.let_fetch(topic)
            return False
        is_illegal = self._is_fetch and code == ErrorCode.INVALID_TOPIC_EXCEPTION
        return is_illegal or code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def _version_of(self, plan: Plan) -> int:
        """Return the version of Metadata to ask with: the client's own, or one that every broker has."""
        return CAN_FORBID_CREATION if self._is_fetch else max(CAN_FORBID_CREATION, plan.api_version)


def _never_fetched(namespace: Namespace, request: Any) -> list[str]:
    """Return the topics that a Fetch names and that the gateway has not seen to exist."""
    names = dict.fromkeys(topic.topic for topic in in_steps(request.topics))
    return [
        name for name in in_steps(names) if not namespace.existing.may_be_fetched(VirtualTopic(name.encode()))
    ]


def _unknown(namespace: Namespace, request: Any) -> list[str]:
    """Return the topics that a request names and that the gateway has not seen to exist."""
    names = dict.fromkeys(topic.name for topic in in_steps(request.topics) if topic.name is not None)
    return [
        name
        for name in in_steps(names)
        if (topic := VirtualTopic(name.encode())) not in namespace.existing
        and namespace.names.is_allowed(topic)
    ]
