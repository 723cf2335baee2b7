"""Fetches of physical partitions that several connections of a process read: the broker answers one of them.

    the offset of a partition lies in an answer that is kept ──▶ the gateway answers, and the broker is not asked
    another connection asks the broker for the same just now ──▶ this one waits, no longer than its client would
    else                                                     ──▶ the broker is asked, and others may wait for its answer

The gateway answers at once with what it has. Of the partitions that it knows nothing new of it says where the log ends;
the next Fetch of the connection goes to the broker for these. `min_bytes`, `max_wait_ms` and the bounds on bytes hold
as they do at a broker. A Fetch with other topics goes to the broker, and so does one behind a request that is not
answered yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sized
from typing import TYPE_CHECKING, Any, NamedTuple

from bifrost.filters.filter import Exchange, Note
from bifrost.filters.steps import OthersPoll
from bifrost.filters.virtual.division import virtual_topics
from bifrost.tenancy.recent_records.recent_partition import Bounds, RecentAnswer, RecentPartition
from bifrost.tenancy.recent_records.shared_poll import SharedPoll
from bifrost.tenancy.virtual_partitions.partition_map import PhysicalPartition
from bifrost.wire.messages import FetchResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.filters.virtual.division import TopicKey
    from bifrost.tenancy.recent_records.recent_records import RecentView
    from bifrost.wire.messages import FetchRequest

MAX_PARTITIONS = 1_000
"""Physical partitions of one Fetch that is shared; a larger one goes to the broker."""
MAX_BYTES = 4 * 1024 * 1024
"""Most bytes of records in one answer of the gateway's, which is put together at once, and so of one that is kept."""
MAX_NAME_BYTES = 249
"""The longest name that a topic can have (Topic.MAX_NAME_LENGTH)."""
_NO_EPOCH, _NO_REPLICA = -1, -1
_COMMITTED = 1
_MS = 1_000_000

Place = tuple["TopicKey", int]
"""A physical partition."""
Topics = Mapping["TopicKey", Mapping[int, Sized]]
"""By topic with virtual partitions and physical partition those virtual ones that are asked for."""


class _Wanted(NamedTuple):
    place: Place
    one: Any
    """Of the request."""
    known: RecentPartition


class SharedFetch(NamedTuple):
    """What a Fetch that goes to the broker has to do with others."""

    poll: SharedPoll
    sent: dict[Place, _Wanted]
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
    if view is None or not view.store.is_on or not exchange.is_first:
        return None
    wanted = _wanted(exchange, request, topics, view)
    if not wanted:
        return None
    now_ns = view.store.now_ns()
    found, size = _found(wanted, min(request.max_bytes, MAX_BYTES), now_ns)
    waited = exchange.met.get(OthersPoll)
    left_out: list[tuple[Place, Bounds]] = []
    if found and size >= request.min_bytes:
        bounds = _bounds_of_others(wanted, found, now_ns)
        if bounds is not None and not (bounds and view.has_left_out):
            view.has_left_out = bool(bounds)
            exchange.stand_in = _answer(request, wanted, found, bounds)
            return None
        if bounds is not None:
            left_out = [(one.place, found[one.place].bounds) for one in wanted if one.place in found]
            wanted = [one for one in wanted if one.place not in found]
            _keep_only(request, wanted)
    else:
        until_ns = waited.until_ns if isinstance(waited, OthersPoll) else now_ns + request.max_wait_ms * _MS
        need = None if found else _others_poll(request, wanted, until_ns)
        if need is not None and now_ns < until_ns:
            return need
        if waited is not None:
            request.max_wait_ms = max((until_ns - now_ns) // _MS, 0)
    view.has_left_out = False
    _begin(exchange, request, view, wanted, left_out)
    return None


def _wanted(exchange: Exchange, request: FetchRequest, topics: Topics, view: RecentView) -> list[_Wanted]:
    """Return what a Fetch asks for; nothing if it is not to be shared."""
    found: list[_Wanted] = []
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
        for one in in_steps(topic.partitions):
            if one.last_fetched_epoch != _NO_EPOCH:
                return []
            known = view.partition(kind, key, one.partition)
            is_part = len(partitions.all_of(PhysicalPartition(one.partition))) > len(readers[one.partition])
            known.note_reader(view.number, one.fetch_offset, now_ns, is_part=is_part)
            found.append(_Wanted((key, one.partition), one, known))
    return found


def _found(wanted: list[_Wanted], most: int, now_ns: int) -> tuple[dict[Place, RecentAnswer], int]:
    """Return the answers that are kept, as far as so many bytes go, and how many bytes they have."""
    found: dict[Place, RecentAnswer] = {}
    size = 0
    for place, one, known in in_steps(wanted):
        answer = known.find(one.fetch_offset, one.current_leader_epoch, one.partition_max_bytes, now_ns)
        if answer is not None and (not found or size + len(answer.records) <= most):
            found[place] = answer
            size += len(answer.records)
    return found, size


def _bounds_of_others(
    wanted: list[_Wanted], found: dict[Place, RecentAnswer], now_ns: int
) -> dict[Place, Bounds] | None:
    """Return where the logs end of which no answer is kept; None: it is not known of all."""
    bounds: dict[Place, Bounds] = {}
    for place, one, known in in_steps(wanted):
        if place in found:
            continue
        has = known.bounds(one.current_leader_epoch, now_ns)
        if has is None:
            return None
        bounds[place] = has
    return bounds


def _answer(
    request: FetchRequest,
    wanted: list[_Wanted],
    found: dict[Place, RecentAnswer],
    bounds: dict[Place, Bounds],
) -> FetchResponse:
    is_committed = request.isolation_level == _COMMITTED
    topics: dict[TopicKey, Any] = {}
    for place, _, _ in in_steps(wanted):
        known = found.get(place)
        if known is None:
            part = _partition(place, bounds[place], is_committed=is_committed)
        else:
            part = _partition(place, known.bounds, is_committed=is_committed)
            part.records, part.aborted_transactions = known.records, _transactions(known)
        _add(topics, place, part)
    return FetchResponse(session_id=0, responses=list(topics.values()))


def _transactions(known: RecentAnswer) -> list[Any] | None:
    if known.aborted is None:
        return None
    kind = FetchResponse.AbortedTransaction
    return [kind(producer_id=one, first_offset=first) for one, first in known.aborted]


def _partition(place: Place, bounds: Bounds, *, is_committed: bool) -> Any:
    return FetchResponse.PartitionData(
        partition_index=place[1],
        high_watermark=bounds.high_watermark,
        last_stable_offset=bounds.last_stable_offset,
        log_start_offset=bounds.log_start_offset,
        aborted_transactions=[] if is_committed else None,
        records=b"",
    )


def _add(topics: dict[TopicKey, Any], place: Place, part: Any) -> None:
    key = place[0]
    topic = topics.get(key)
    if topic is None:
        topic = topics[key] = FetchResponse.FetchableTopicResponse(topic=key[0], topic_id=key[1])
    topic.partitions.append(part)


def _keep_only(request: FetchRequest, wanted: list[_Wanted]) -> None:
    """Ask for these at once: there are records of other partitions already."""
    places = {one.place for one in wanted}
    for topic in in_steps(request.topics):
        key = topic.topic, topic.topic_id
        topic.partitions = [one for one in in_steps(topic.partitions) if (key, one.partition) in places]
    request.topics = [topic for topic in in_steps(request.topics) if topic.partitions]
    request.max_wait_ms = request.min_bytes = 0


def _others_poll(request: FetchRequest, wanted: list[_Wanted], until_ns: int) -> OthersPoll | None:
    """Return whose answers bring all that a Fetch waits for; None: some partition is not asked for."""
    ends = set()
    for _, one, known in in_steps(wanted):
        end = known.poll(
            one.fetch_offset, one.current_leader_epoch, one.partition_max_bytes, request.min_bytes
        )
        if end is None:
            return None
        ends.add(end)
    return OthersPoll(frozenset(ends), until_ns)


def _begin(
    exchange: Exchange,
    request: FetchRequest,
    view: RecentView,
    wanted: list[_Wanted],
    left_out: list[tuple[Place, Bounds]],
) -> None:
    """Let others wait for the answer to a Fetch that goes to the broker."""
    poll = SharedPoll()
    for _, one, known in in_steps(wanted):
        offset, epoch, most = one.fetch_offset, one.current_leader_epoch, one.partition_max_bytes
        known.begin_poll(offset, epoch, most, request.min_bytes, poll.end)
    exchange.keep(
        _SHARED, SharedFetch(poll, {one.place: one for one in wanted}, left_out, view.tenant.generation)
    )


# -- when the answer has come


def add_left_out(exchange: Exchange, response: FetchResponse) -> None:
    """Add the partitions to an answer that the broker was not asked for."""
    shared = exchange.find(_SHARED)
    if shared is None or response.error_code:
        return
    topics = {(topic.topic, topic.topic_id): topic for topic in in_steps(response.responses)}
    for place, bounds in in_steps(shared.left_out):
        _add(topics, place, _partition(place, bounds, is_committed=False))
    response.responses = list(topics.values())


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
    _, one, known = shared.sent[place]
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
    known.note_records(one.fetch_offset, shared.poll.end)
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
