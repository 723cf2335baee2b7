"""ConsumerGroupHeartbeat v1: a pattern also finds the topics that were moved to its namespace, or are shared with it.

What is added to a member's names, and why, is in tenancy/namespaces/subscriptions.py. Here it is put into heartbeats:

    the member says what it subscribes to    its names go on with the topics that its pattern finds as well
    it says nothing, and nothing changed     the heartbeat goes on as it is
    it says nothing, and topics were moved   the gateway says it anew, in the same heartbeat
    it says nothing, and is not known here   the broker is asked first (ConsumerGroupDescribe): it has joined at another
                                             gateway or worker, or before the first topic was moved

Tenants without moved and shared topics pay a look into a dictionary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bifrost.filters.filter import Exchange, Note
from bifrost.filters.steps import FORWARD, AtBroker, RequestStep, ResponseStep
from bifrost.tenancy.acls.acl_binding import Operation, ResourceType
from bifrost.tenancy.invalid_regex import InvalidRegex
from bifrost.wire.messages import ConsumerGroupDescribeRequest
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from typing import ClassVar

    from bifrost.tenancy.namespaces.subscriptions import Member, Subscription, Subscriptions
    from bifrost.wire.entity import Entity
    from bifrost.wire.messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse

_PATTERNS_SINCE = 1
"""The version of ConsumerGroupHeartbeat from which on members have patterns."""

_DESCRIBE_VERSION = 0
"""It tells a member's pattern, and brokers that know patterns have it."""

_TOLD: Note[tuple[Member, Subscription]] = Note("told_subscription")


class MovedSubscriptionsFilter:
    """Adds moved and shared topics to what members with patterns subscribe to."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: ConsumerGroupHeartbeatRequest) -> RequestStep:
        """Say what the member subscribes to, if the broker does not have it so."""
        subscriptions = _subscriptions(exchange)
        if subscriptions is None or exchange.api_version < _PATTERNS_SINCE:
            return FORWARD
        member = (request.group_id, request.member_id)
        if request.member_epoch < 0:  # It leaves.
            subscriptions.members.discard(member)
            return FORWARD
        known = subscriptions.members.get(member)
        names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
        if known is None and request.member_epoch > 0 and (names is None or regex is None):
            met = exchange.met.get(AtBroker)
            if isinstance(met, AtBroker):
                _learn(exchange, subscriptions, request.group_id, met)
                known = subscriptions.members.get(member)
            elif subscriptions.may_ask(request.group_id, exchange.scope.namespace.now_ms()):
                asked = ConsumerGroupDescribeRequest(group_ids=[request.group_id])
                return AtBroker(((asked, _DESCRIBE_VERSION),))
            if known is None:
                return FORWARD  # What it subscribes to is not known.
        before = known or _nothing()
        said = before if names is None else before._replace(names=tuple(in_steps(names)))
        said = said if regex is None else said._replace(regex=regex)
        told = _tell(exchange, subscriptions, request, said)
        if told != known:
            exchange.keep(_TOLD, (member, told))
            exchange.wants_response = True
        return FORWARD

    def on_response(self, exchange: Exchange, response: ConsumerGroupHeartbeatResponse) -> ResponseStep:
        """Remember what the broker has; after an error it may have it or not."""
        told, subscriptions = exchange.find(_TOLD), _subscriptions(exchange)
        if told is not None and subscriptions is not None:
            member, subscription = told
            if response.error_code:
                subscriptions.members.discard(member)
            else:
                subscriptions.members.put(member, subscription)
        return FORWARD


def _subscriptions(exchange: Exchange) -> Subscriptions | None:
    """Return what members subscribe to; None: nothing was ever moved to the namespace or away from it."""
    namespace = exchange.scope.namespace
    found = namespace.users.subscriptions
    if found is None and namespace.tenant in namespace.names.aliases:
        from bifrost.tenancy.namespaces.subscriptions import (
            Subscriptions,
        )  # memory, only where topics were moved

        found = namespace.users.subscriptions = Subscriptions()
    return found


def _nothing() -> Subscription:
    from bifrost.tenancy.namespaces.subscriptions import Subscription

    return Subscription((), "")


def _tell(
    exchange: Exchange,
    subscriptions: Subscriptions,
    request: ConsumerGroupHeartbeatRequest,
    said: Subscription,
) -> Subscription:
    """Put into the request what the broker lacks; return what it has with it."""
    namespace, guard = exchange.scope.namespace, exchange.scope.guard
    found = [
        name
        for name in subscriptions.topics_for(said.regex, namespace.names)
        if guard is None or guard.may(Operation.DESCRIBE, ResourceType.TOPIC, name)
    ]
    added = frozenset(found)
    is_said = request.subscribed_topic_names is not None
    differs = bool(added) if is_said else added != said.added
    if differs and (said.regex or said.added):
        request.subscribed_topic_names = [*said.names, *(one for one in found if one not in said.names)]
    sent = said.sent
    if said.regex:
        try:
            sent = namespace.confined_regex(said.regex)
        except InvalidRegex:
            return said._replace(added=added)  # See `_topics_for`: the broker keeps what it has.
        if request.subscribed_topic_regex is None and sent != said.sent:
            request.subscribed_topic_regex = said.regex
    return said._replace(added=added, sent=sent)


def _learn(exchange: Exchange, subscriptions: Subscriptions, group_id: str, met: AtBroker) -> None:
    """Remember what the broker says of the members of a group; each is told anew, for some of it may be hidden."""
    from bifrost.tenancy.namespaces.subscriptions import Subscription

    names = exchange.scope.namespace.names
    for group in in_steps(met.answers[0].groups):
        for one in in_steps(group.members):
            regex = one.subscribed_topic_regex or ""
            added = set(subscriptions.topics_for(regex, names))
            own = tuple(name for name in one.subscribed_topic_names if name not in added)
            if subscriptions.members.get((group_id, one.member_id)) is None:
                subscriptions.members.put((group_id, one.member_id), Subscription(own, regex))
