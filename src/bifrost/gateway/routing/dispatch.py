"""Decides, by the table of routes, how each request is sent: to one broker, in parts, or to all.

`begin` sends at once what it can; what lacks a leader or a coordinator waits for `look_up`, once.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

from bifrost.filters.error_response import error_response
from bifrost.gateway.routing.decoded_answers import give_decoded
from bifrost.gateway.routing.fetch_polls import FetchPolls
from bifrost.gateway.routing.keyed_requests import FOLLOWED, MOVED, KeyedRequest, codes_of
from bifrost.gateway.routing.share_requests import ShareRequests
from bifrost.gateway.routing.split_requests import split_of, split_request
from bifrost.routes import keyed_parts
from bifrost.routes.gathered import gathered
from bifrost.routes.keyed_parts import Key
from bifrost.routes.one_broker import NAMES_BROKERS, NODE_ID, show_one
from bifrost.routes.route_kinds import RouteKind
from bifrost.routes.split import Split
from bifrost.routes.split_request import MANY_ITEMS
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import FindCoordinatorResponse, MetadataResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bifrost.gateway.routing.request import Request
    from bifrost.gateway.routing.router import Router, Turn

Buffer = bytes | memoryview

ROUTES_LIMIT = "route_look_ups"
"""What waiting for the budget of look-ups counts as, in `kafka_proxy_limits_hit_total`."""

_BY_LEADER = (RouteKind.LEADERS, RouteKind.FETCH)
_LISTS = (RouteKind.GROUPS, RouteKind.TRANSACTIONS)
_SINGLE = (RouteKind.GROUP, RouteKind.TRANSACTION)
_BROKER = 4
"""ConfigResource.Type.BROKER."""


class Dispatch:
    """Sends the requests of one client."""

    def __init__(self, router: "Router") -> None:
        """Serve this router."""
        self._router = router
        self._polls = FetchPolls(router)
        self._shares = ShareRequests(router)
        self._waiting: tuple[Request, Split] | None = None
        """The request that waits, taken apart."""

    def close(self) -> None:
        """Stop waiting for anything."""
        self._waiting = None
        self._polls.close()
        self._shares.close()

    def begin(self, request: "Request", *, is_last: bool) -> bool:
        """Send a request; False: it has to wait for a look-up first.

        Args:
            request: the request.
            is_last: whether it has waited: what is unknown then has an error.
        """
        kind = request.way.kind
        if kind in _BY_LEADER:
            split = self._taken_apart(request)
            if is_last:
                split.go_on()  # It was read to its end in `look_up`, as long as the client was there.
            # What names very many is taken apart in some turns of the loop, and sent in another.
            must_wait = not is_last and (split.is_open or split.partitions > MANY_ITEMS)
            if must_wait or (self._unknown(request, split) and not is_last):
                self._waiting = request, split
                return False
            self._waiting = None
            if kind is RouteKind.FETCH:
                self._polls.begin(self._router.turn(), request, split)
            else:
                self._router.send_split(split_request(request, split), self._router.home)
            return True
        if kind is RouteKind.SHARE:
            self._shares.begin(request)
            return True
        if kind in _SINGLE or kind in _LISTS:
            return self._begin_keyed(request, kind, is_last=is_last)
        self._begin_elsewhere(request, kind)
        return True

    async def look_up(self, request: "Request") -> None:
        """Learn what a request needs.

        Raises:
            BrokerError: no broker could be asked.
        """
        kind, routes, tenant = request.way.kind, self._router.cluster.routes, self._router.tenant or ""
        if kind in _BY_LEADER:
            split = self._taken_apart(request)
            self._waiting = request, split
            if split.is_open:
                await self._router.in_turns(partial(split.go_on, MANY_ITEMS))
            unknown = self._unknown(request, split)
            has_waited = await routes.look_up_leaders(unknown, tenant, by_id=request.shapes.is_by_id)
        else:
            assert kind is not None
            has_waited = await routes.look_up_coordinators(
                [one for one in self._keys(request, kind) if routes.coordinator(one) is None], tenant
            )
        if has_waited:
            self._router.note_hit(ROUTES_LIMIT)

    def _taken_apart(self, request: "Request") -> Split:
        """Take a request apart, if it was not before it had to wait."""
        waiting = self._waiting
        return split_of(request) if waiting is None or waiting[0] is not request else waiting[1]

    def _unknown(self, request: "Request", split: Split) -> list[bytes]:
        """Decide where the parts go; return the topics that have to be looked up first."""
        return self._router.cluster.routes.unknown(split, request.shapes, self._router.home)

    # -- by coordinator

    def _keys(self, request: "Request", kind: RouteKind) -> list[Key]:
        number = keyed_parts.coordinator_type(kind)
        if keyed_parts.has_list(request.api_key, request.api_version):
            return [(number, name) for name in keyed_parts.keys_of(request.api_key, request.decoded())]
        is_flexible = request.way.is_flexible
        name = keyed_parts.single_key(request.api_key, request.whole, request.body, is_flexible=is_flexible)
        return [] if name is None else [(number, name)]

    def _begin_keyed(self, request: "Request", kind: RouteKind, *, is_last: bool) -> bool:
        router, keys = self._router, self._keys(request, kind)
        nodes = [router.cluster.routes.coordinator(key) for key in keys]
        if not is_last and None in nodes:
            return False
        if kind in _LISTS or request.api_key in FOLLOWED:
            KeyedRequest(router, request, keys).send()
            return True
        turn = router.turn()

        def answered(frame: Buffer | None, _may_be_done: bool) -> None:
            if frame is None:
                router.answer_error(turn, request, ErrorCode.COORDINATOR_NOT_AVAILABLE)
                return
            if not MOVED.isdisjoint(codes_of(request, frame)):
                router.cluster.routes.forget_coordinators(keys)
            router.answer(turn, frame)

        node_id = next((one for one in nodes if one is not None), router.home)
        router.send(node_id, request, answered)
        return True

    # -- any broker, the controller, or all

    def _begin_elsewhere(self, request: "Request", kind: RouteKind | None) -> None:
        router, turn = self._router, self._router.turn()
        if kind is RouteKind.ALL and router.cluster.fresh.is_recent:
            self._ask_all(turn, request)
        elif kind is RouteKind.ALL:
            router.start(self._ask_all_anew(turn, request))
        elif kind is RouteKind.CONTROLLER:
            controller = router.cluster.controller_id
            first = controller if controller in router.cluster.node_ids else router.home
            self._relay(turn, request, first, set())
        elif kind is RouteKind.BROKER:
            self._ask_named(turn, request)
        else:
            self._relay(turn, request, router.home, set())

    def _relay(self, turn: "Turn", request: "Request", node_id: int, tried: set[int]) -> None:
        """Send a request to a broker; if that is not reached, to another."""
        router = self._router
        tried.add(node_id)

        def answered(frame: Buffer | None, may_be_done: bool) -> None:
            if frame is not None:
                self._give(turn, request, frame)
                return
            other = router.another(tried)
            # What changes something is not asked for twice: the first broker may have done it.
            if other is None or (may_be_done and request.way.kind is not RouteKind.ANY):
                router.answer_error(turn, request, ErrorCode.REQUEST_TIMED_OUT)
            else:
                self._relay(turn, request, other, tried)

        router.send(node_id, request, answered)

    def _give(self, turn: "Turn", request: "Request", frame: Buffer) -> None:
        """Give an answer as a client sees it that knows one broker."""
        if request.api_key in NAMES_BROKERS:
            give_decoded(self._router, turn, len(frame), partial(self._shown, request, frame))
            return
        is_changed = request.way.kind is RouteKind.CONTROLLER
        if is_changed and ErrorCode.NOT_CONTROLLER in codes_of(request, frame):
            self._router.start(self._router.cluster.refresh())
        self._router.answer(turn, frame)

    def _shown(self, request: "Request", frame: Buffer) -> Buffer:
        message = request.read(frame)
        if isinstance(message, MetadataResponse):
            self._router.cluster.routes.learn(message)
        elif isinstance(message, FindCoordinatorResponse):
            # A client asks when a coordinator has refused it, and then expects that the next request is served.
            self._router.cluster.routes.learn_coordinators(request.decoded(), message)
        show_one(message)
        return request.answered_by(message)

    async def _ask_all_anew(self, turn: "Turn", request: "Request") -> None:
        """Ask all brokers once it is known which there are; as a client does, which asks for the metadata first."""
        router = self._router

        def ask() -> bool:
            self._ask_all(turn, request)
            return False

        await router.cluster.fresh.wait()
        await router.in_turns(ask)  # A refresh ends the waiting of very many, all in one turn of the loop.

    def _ask_all(self, turn: "Turn", request: "Request") -> None:
        router, cluster = self._router, self._router.cluster
        # One that was not reached when it came is asked as well: an answer without it would look complete.
        nodes, answers = sorted(cluster.node_ids | cluster.unreachable), dict[int, Buffer | None]()
        if not nodes:
            router.answer_error(turn, request, ErrorCode.COORDINATOR_NOT_AVAILABLE)

        def answered(node_id: int, frame: Buffer | None) -> None:
            answers[node_id] = frame
            if len(answers) == len(nodes):
                # In the order of the brokers, not of their answers: the same question has the same answer.
                frames = [answers[one] for one in nodes]
                size = sum(len(one) for one in frames if one is not None)
                give_decoded(router, turn, size, partial(_gathered, request, frames))

        for node_id in nodes:

            def on_answer(frame: Buffer | None, _may_be_done: bool, node_id: int = node_id) -> None:
                answered(node_id, frame)

            router.send(node_id, request, on_answer)

    def _ask_named(self, turn: "Turn", request: "Request") -> None:
        """Send a request about configs: the only broker is each broker, so any one speaks for it."""
        router = self._router
        message, home = request.decoded(), router.home
        shown = _rename(message, home)
        if not shown:
            self._relay(turn, request, home, set())
            return

        def answered(frame: Buffer | None, _may_be_done: bool) -> None:
            if frame is None:
                router.answer_error(turn, request, ErrorCode.REQUEST_TIMED_OUT)
                return
            response: Any = request.read(frame)
            for one in getattr(response, "results", None) or getattr(response, "responses", None) or ():
                if one.resource_type == _BROKER:
                    one.resource_name = shown.get(one.resource_name, one.resource_name)
            router.answer(turn, request.answered_by(response))

        router.send(home, request._replace(segments=request.encoded(message)), answered)


def _gathered(request: "Request", frames: "Sequence[Buffer | None]") -> Buffer:
    """Return the answer that those of all brokers make; None: a broker has not answered."""
    answers = [
        _error(request, ErrorCode.COORDINATOR_NOT_AVAILABLE) if one is None else request.read(one)
        for one in frames
    ]
    return request.answered_by(gathered(answers))


def _rename(message: Any, home: int) -> dict[str, str]:
    """Put a broker's own ID in the place of the only broker's; return what the client called what is named now."""
    shown: dict[str, str] = {}
    for place, one in enumerate(message.resources):
        if one.resource_type == _BROKER and one.resource_name:
            # No broker has a negative ID, so the broker answers that there is none, as for any other.
            name = str(home) if one.resource_name == str(NODE_ID) else str(-2 - place)
            shown[name], one.resource_name = one.resource_name, name
    return shown


def _error(request: "Request", code: ErrorCode) -> Message:
    response = error_response(request.decoded(), request.api_version, code)
    assert response is not None, "an API whose answers are merged has a place for errors"
    return response
