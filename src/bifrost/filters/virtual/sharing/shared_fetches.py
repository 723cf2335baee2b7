"""Fetches of physical partitions that several connections of a process read: the broker answers one of them.

    the offset of a partition lies in an answer that is kept ──▶ the gateway answers, and the broker is not asked
    another connection asks the broker for the same just now ──▶ this one waits, no longer than its client would
    else                                                     ──▶ the broker is asked, and others may wait for its answer

The gateway answers at once with what it has. Of the partitions that it knows nothing new of it says where the log ends;
a next Fetch of the connection goes to the broker for these. `min_bytes`, `max_wait_ms` and the bounds on bytes hold
as they do at a broker. A Fetch with other topics goes to the broker, and so does one behind a request that has no
answer in all the time that it may wait: some clients ask for the start of each partition by itself, and send their
Fetch behind these requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sized
from typing import TYPE_CHECKING, Any, NamedTuple

from bifrost.filters.filter import Exchange, Note
from bifrost.filters.steps import OthersPoll
from bifrost.filters.virtual.division import virtual_topics
from bifrost.filters.virtual.sharing.known_partitions import KnownPartitions, told, wanted_of
from bifrost.tenancy.recent_records.recent_partition import Bounds, RecentAnswer
from bifrost.tenancy.recent_records.shared_poll import SharedPoll
from bifrost.wire.messages import FetchResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.filters.virtual.division import TopicKey
    from bifrost.filters.virtual.sharing.known_partitions import Place, Wanted
    from bifrost.tenancy.recent_records.recent_records import RecentView
    from bifrost.wire.messages import FetchRequest

MAX_PARTITIONS = 1_000
"""Physical partitions of one Fetch that is shared; a larger one goes to the broker."""
MAX_BYTES = 6 * 1024 * 1024
"""Most bytes of records in one answer of the gateway's, which is put together at once, and so of one that is kept.
Where connections are close to each other the broker is asked for no more."""
MAX_ROUNDS = 3
"""How often a Fetch waits for others before the broker is asked for what they have asked for."""
MAX_LEFT_OUT = 8
"""How many answers of a connection, one after the other, may have only what is kept, and leave other partitions out."""
ROOM_NS = 20_000_000
"""How long it waits at first for those that have still to read what is kept: one or two answers from memory."""
MAX_ROOM_NS = 250_000_000
"""How long it has waited for room when the broker is asked for more than can be kept: as long as it takes to give an
answer of `MAX_BYTES` to each of ten connections, or twice, and no longer because one of them has stopped reading."""
BEFORE_NS = 5_000_000
"""How long it waits at first for the answers to requests before it."""
MOMENT_NS = 50_000_000
"""How long an answer may take that has records already."""
MAX_NAME_BYTES = 249
"""The longest name that a topic can have (Topic.MAX_NAME_LENGTH)."""
_NO_REPLICA = -1
_MS = 1_000_000

Topics = Mapping["TopicKey", Mapping[int, Sized]]
"""By topic with virtual partitions and physical partition those virtual ones that are asked for."""


class SharedFetch(NamedTuple):
    """What a Fetch that goes to the broker has to do with others."""

    poll: SharedPoll
    sent: dict[Place, Wanted]
    left_out: list[tuple[Place, Bounds]]
    """Partitions that the broker is not asked for, as their records are here: the next Fetch gets them."""
    generation: int


_SHARED: Note[SharedFetch] = Note("shared_fetch")


def share(exchange: Exchange, request: FetchRequest, topics: Topics) -> OthersPoll | None:
    """Let a Fetch be answered with what is known, or return whose answer it waits for; None: it goes on.

    Args:
        exchange: gets what stands in for the broker's answer, or what is noted of the Fetch.
        request: of physical partitions; may ask for less afterwards.
        topics: what virtual partitions it asks for.
    """
    view = exchange.scope.recent
    if view is None or not view.store.is_on:
        return None
    wanted = _wanted(exchange, request, topics, view)
    if not wanted:
        return None
    now_ns, waited = view.store.now_ns(), exchange.met.get(OthersPoll)
    rounds, due_ns = 0, now_ns + request.max_wait_ms * _MS
    if isinstance(waited, OthersPoll):
        rounds, due_ns = waited.rounds, waited.due_ns
    began_ns = due_ns - request.max_wait_ms * _MS
    if not exchange.is_first:
        # Its answer cannot come before theirs: a broker, too, does one request of a connection after the other.
        return None if now_ns >= due_ns else _wait(BEFORE_NS, now_ns, began_ns, due_ns, rounds)
    room_ns = min(due_ns, began_ns + MAX_ROOM_NS)
    known = KnownPartitions(request, wanted, now_ns, has_waited=rounds > 0)
    given, size = known.given(min(request.max_bytes, MAX_BYTES))
    if given and size >= request.min_bytes:
        asked = known.unknown()
        if not asked or _is_enough(view, known, asked, size, now_ns):
            view.left_out = view.left_out + 1 if asked else 0
            exchange.stand_in = _answer(given, known)
            return None
        is_at_once = True
    else:
        need = None if given or now_ns >= due_ns else _need(known, now_ns, due_ns, rounds)
        if need is not None:
            return need
        is_at_once = bool(known.coming) and known.has_more(known.missing)
        asked = known.unknown() if is_at_once else wanted
        if waited is not None:
            request.max_wait_ms = max((due_ns - now_ns) // _MS, 0)
    if _has_company(view, asked, now_ns):
        if now_ns < room_ns and _is_too_far(view, known, asked):
            return _wait(ROOM_NS, now_ns, began_ns, due_ns, rounds + 1)
        _bound(request, asked)
    view.left_out = 0
    _begin(exchange, request, view, known, asked, is_at_once=is_at_once)
    return None


def _wanted(exchange: Exchange, request: FetchRequest, topics: Topics, view: RecentView) -> list[Wanted]:
    """Return what a Fetch asks for; nothing if it is not to be shared."""
    found: list[Wanted] = []
    kind, now_ns = (exchange.api_version, request.isolation_level, request.rack_id), view.store.now_ns()
    for topic in in_steps(request.topics):
        key = topic.topic, topic.topic_id
        readers, partitions = topics.get(key), virtual_topics(exchange).map_of_either(*key)
        if (
            readers is None
            or partitions is None
            or len(topic.topic) > MAX_NAME_BYTES
            or len(request.rack_id) > MAX_NAME_BYTES
        ):
            return []
        if len(found) + len(topic.partitions) > MAX_PARTITIONS:
            return []
        name = virtual_topics(exchange).name_of(*key)
        some = wanted_of(topic.partitions, readers, partitions, view, kind, key, name, now_ns)
        if some is None:
            return []
        found += some
    return found


def _wait(least_ns: int, now_ns: int, began_ns: int, due_ns: int, rounds: int) -> OthersPoll:
    """Return how long a Fetch waits that no other answer ends.

    It is as long as it has waited already, so that it is looked at a few times only.
    """
    until_ns = min(due_ns, now_ns + max(least_ns, now_ns - began_ns))
    return OthersPoll(frozenset(), until_ns, due_ns=due_ns, rounds=rounds)


def _need(known: KnownPartitions, now_ns: int, due_ns: int, rounds: int) -> OthersPoll | None:
    """Return whose answers a Fetch waits for; None: the broker has to be asked."""
    ends = known.ends()
    if ends and not known.missing:
        return OthersPoll(ends, due_ns, rounds=rounds + 1)
    if rounds < MAX_ROUNDS and not known.has_all_ends(known.coming):
        # Without it the broker would have to be asked for these as well.
        return OthersPoll(ends, min(due_ns, now_ns + MOMENT_NS), due_ns=due_ns, rounds=rounds + 1)
    if rounds or known.has_more(known.missing) or not known.has_more(known.coming):
        return None
    # What is missing is at the end of its log, and the rest is here in a moment.
    return OthersPoll(ends, min(due_ns, now_ns + MOMENT_NS), due_ns=due_ns, rounds=1)


def _is_enough(view: RecentView, known: KnownPartitions, asked: list[Wanted], size: int, now_ns: int) -> bool:
    """Whether what is kept is answer enough, though the broker would have to be asked for the rest.

    It is the first time. After that it has to be much, or there is no room for more; and at some time the rest is asked
    for in any case, for no other connection may read it.
    """
    if not known.has_all_ends(asked):
        return False
    if not view.left_out:
        return True
    is_much = size >= MAX_BYTES // 2 or _is_too_far(view, known, asked)
    return view.left_out < MAX_LEFT_OUT and is_much and _has_company(view, asked, now_ns)


def _has_company(view: RecentView, asked: list[Wanted], now_ns: int) -> bool:
    return any(one.known.has_company(view.number, one.one.fetch_offset, now_ns) for one in asked)


def _is_too_far(view: RecentView, known: KnownPartitions, asked: list[Wanted]) -> bool:
    """Whether what the broker would send now cannot be kept, as others have still to read what is."""
    return known.has_more(asked) and view.tenant.is_full


def _bound(request: FetchRequest, asked: list[Wanted]) -> None:
    """Ask for no more than is kept, and first for what was not read for the longest.

    So connections whose clients name the partitions in other orders come to the same records at the same time.
    """
    request.max_bytes = min(request.max_bytes, max(MAX_BYTES, request.min_bytes))
    asked.sort(key=lambda one: one.known.brought_ns)


def _answer(given: Mapping[Place, RecentAnswer], known: KnownPartitions) -> FetchResponse:
    kind = FetchResponse.FetchableTopicResponse
    topics = known.answer(given).items()
    return FetchResponse(
        session_id=0,
        responses=[kind(topic=name, topic_id=by_id, partitions=some) for (name, by_id), some in topics],
    )


def take_room(exchange: Exchange, own_bytes: int) -> None:
    """Take room for what stands in for the broker's answer; without any the broker is asked."""
    assert exchange.scope.recent is not None, "only what it has stands in"
    exchange.stand_in_room = exchange.scope.recent.take_room(own_bytes)
    if exchange.stand_in_room is None:
        exchange.stand_in = None


def _add(topics: dict[TopicKey, Any], place: Place, part: Any) -> None:
    key = place[0]
    topic = topics.get(key)
    if topic is None:
        topic = topics[key] = FetchResponse.FetchableTopicResponse(topic=key[0], topic_id=key[1])
    topic.partitions.append(part)


def _begin(
    exchange: Exchange,
    request: FetchRequest,
    view: RecentView,
    known: KnownPartitions,
    asked: list[Wanted],
    *,
    is_at_once: bool,
) -> None:
    """Ask the broker, and let others wait for the answer.

    Args:
        exchange: of the Fetch.
        request: what is sent.
        view: of the connection.
        known: where the logs end of what is not asked for.
        asked: what the broker is asked for, in this order.
        is_at_once: whether there are records, so that the broker is not to wait for any.
    """
    sent = {one.place: one for one in asked}
    topics = {(topic.topic, topic.topic_id): topic for topic in in_steps(request.topics)}
    for topic in topics.values():
        topic.partitions = []
    for one in in_steps(asked):
        topics[one.place[0]].partitions.append(one.one)
    request.topics = [topic for topic in topics.values() if topic.partitions]
    if is_at_once:
        request.max_wait_ms = request.min_bytes = 0
    poll, now_ns = SharedPoll(), view.store.now_ns()
    for each in in_steps(asked):
        it = each.one
        offset, epoch, most = it.fetch_offset, it.current_leader_epoch, it.partition_max_bytes
        each.known.begin_poll(offset, epoch, most, request.min_bytes, poll.end, now_ns)
    most = sum(max(0, one.one.partition_max_bytes) for one in asked)
    view.tenant.expect(poll.end, min(request.max_bytes, MAX_BYTES, most))
    exchange.keep(_SHARED, SharedFetch(poll, sent, known.left_out(sent), view.tenant.generation))


# -- when the answer has come


def add_left_out(exchange: Exchange, response: FetchResponse) -> None:
    """Add the partitions to an answer that the broker was not asked for."""
    shared = exchange.find(_SHARED)
    if shared is None or response.error_code:
        return
    # An answer may have a topic twice, as that of several brokers behind a single address has (routes/in_place.pyx).
    topics = {(topic.topic, topic.topic_id): topic for topic in in_steps(response.responses)}
    known = len(topics)
    for place, bounds in in_steps(shared.left_out):
        _add(topics, place, told(place[1], bounds, is_committed=False))
    response.responses += list(topics.values())[known:]


def keep(exchange: Exchange, place: Place, partition: Any, records: bytes | memoryview, end: int) -> None:
    """Keep what a broker has answered about a physical partition, if several connections read it.

    Args:
        exchange: of the Fetch.
        place: which partition.
        partition: the broker's answer, without an error.
        records: as it has them.
        end: behind the last whole batch; it has been read.
    """
    shared, view = exchange.find(_SHARED), exchange.scope.recent
    if (
        shared is None
        or view is None
        or place not in shared.sent
        or shared.generation != view.tenant.generation
    ):
        return
    if partition.preferred_read_replica != _NO_REPLICA or partition.high_watermark < 0:
        return
    sent = shared.sent[place]
    one, known = sent.one, sent.known
    now_ns = view.store.now_ns()
    bounds = Bounds(
        one.current_leader_epoch,
        partition.high_watermark,
        partition.last_stable_offset,
        partition.log_start_offset,
        now_ns,
    )
    known.note_bounds(bounds)
    if end <= one.fetch_offset:
        return
    known.note_records(one.fetch_offset, end, shared.poll.end, now_ns)
    if partition.aborted_transactions:
        return  # Each consumer is told by the broker which of its own to drop.
    if len(records) > MAX_BYTES or not known.is_wanted or not view.tenant.has_room(len(records)):
        return
    aborted = partition.aborted_transactions
    some = None if aborted is None else tuple((it.producer_id, it.first_offset) for it in in_steps(aborted))
    answer = RecentAnswer(one.fetch_offset, end, one.partition_max_bytes, bounds, some, bytes(records))
    view.tenant.keep(known, answer)


def end(exchange: Exchange) -> None:
    """Let those go on that wait for the answer: it has come, and what it brings is kept."""
    shared = exchange.find(_SHARED)
    if shared is not None:
        shared.poll.end.come()
