"""ListOffsets of virtual partitions: each has an end, an earliest record and records by time of its own.

    client ──▶ the broker: the start, the end and the times of each physical partition ──▶ parts of its log ──▶ client

The broker answers for the physical partitions. Then as much of their logs is read as shows which of the records there
are the virtual partition's own (`OffsetScans`). Which of these has the latest timestamp is looked for before
(logs/latest_records.py).

    -1 the end            -2 the start, -4 that of what brokers have on their own disks, -6 of what is not uploaded yet
    -3 the latest time    -5 the last offset in remote storage

Source: ListOffsetsRequest, KIP-405, KIP-734, KIP-1005, KIP-1023.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from bifrost.filters.filter import Exchange, Note
from bifrost.filters.steps import FORWARD, AtBroker, RequestStep, ResponseStep, StoredBatches
from bifrost.filters.virtual.division import NO_PARTITION, copied, virtual_topics
from bifrost.filters.virtual.logs.end_scan import EndScan
from bifrost.filters.virtual.logs.latest_records import MAX_TIMESTAMP, NOT_KNOWN, look_up
from bifrost.filters.virtual.offset_scans import (
    AGAIN,
    LIMIT,
    FirstScan,
    Found,
    OffsetScans,
    StartScan,
)
from bifrost.tenancy.virtual_partitions.logs.known_starts import KnownStarts
from bifrost.tenancy.virtual_partitions.logs.stretch import KnownStretches
from bifrost.tenancy.virtual_partitions.partition_end import least_end
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup, VirtualPartition
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ListOffsetsResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.tenancy.virtual_partitions.logs.stretch import Place
    from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
    from bifrost.wire.entity import Entity
    from bifrost.wire.messages import ListOffsetsRequest

LATEST, EARLIEST, LATEST_TIERED = -1, -2, -5
"""What ListOffsets takes for the end, the start, and the last offset in remote storage."""
_STARTS = frozenset({EARLIEST, -4, -6})
"""Times that stand for where some of the log begins."""
_FIRST_WITH_OFFSET = 1
"""Version of ListOffsets that looks up records; before it, segments of the log."""


class _Asked(NamedTuple):
    """A virtual partition of the request."""

    partition: int
    group: PartitionGroup
    physical: int
    time: int
    """In milliseconds, or one of the numbers below 0."""


class _Topic(NamedTuple):
    """A topic with virtual partitions."""

    name: str
    partitions: PartitionMap
    asked: list[_Asked]
    refused: list[Any]


class _Listed:
    """What was asked, and what is known of the answer."""

    __slots__ = ("scans", "times", "topics")

    def __init__(self) -> None:
        self.topics: list[_Topic] = []
        self.times: list[dict[tuple[str, int], int]] = [{}]
        """For what time each request to the broker asks of a physical partition."""
        self.scans: dict[tuple[str, _Asked], FirstScan] = {}


_LISTED: Note[_Listed] = Note("listed_virtual_offsets")
_Answered = tuple[str, int, int]
"""A topic, a physical partition and a time."""
_ENDS: Note[dict[_Answered, EndScan]] = Note("ends_of_virtual_partitions")
_STARTED: Note[dict[_Answered, StartScan]] = Note("starts_of_virtual_partitions")
_SCANS: Note[OffsetScans] = Note("scans_of_virtual_partitions")


class ListedOffsetsFilter:
    """Answers with offsets of virtual partitions."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: ListOffsetsRequest) -> RequestStep:
        """Ask about the physical partitions: of one partition each request has one question."""
        latest = look_up(exchange, request)
        if isinstance(latest, AtBroker):
            return latest
        virtual, listed = virtual_topics(exchange), _Listed()
        waves: list[list[Any]] = [[]]
        for topic in in_steps(request.topics):
            partitions = virtual.map_of(topic.name)
            if partitions is None:
                waves[0].append(topic)
                continue
            found = _Topic(topic.name, partitions, [], [])
            listed.topics.append(found)
            questions: dict[int, dict[int, Any]] = {}
            named: set[int] = set()
            for one in in_steps(topic.partitions):
                number = one.partition_index
                error = 0 if partitions.has(number) else NO_PARTITION
                # So does a broker with a partition that is named twice.
                error = int(ErrorCode.INVALID_REQUEST) if number in named else error
                named.add(number)
                if error:
                    found.refused.append(_answer(number, Found(-1, -1, error), -1))
                    continue
                if one.timestamp == MAX_TIMESTAMP:
                    record = latest.get((topic.name, number), NOT_KNOWN)
                    found.refused.append(_answer(number, Found(*record[:3]), record.leader_epoch))
                    continue
                group, physical = partitions.place_of(VirtualPartition(number))
                found.asked.append(_Asked(number, group, physical, one.timestamp))
                for time in _questions(one.timestamp, exchange.api_version):
                    question = copied(one, partition_index=physical, timestamp=time)
                    questions.setdefault(physical, {}).setdefault(time, question)
            _add_waves(waves, listed, topic, questions)
        if not listed.topics:
            return FORWARD
        virtual.count("parts", len(waves) - 1)
        virtual.count("remapped", sum(len(topic.asked) for topic in listed.topics))
        exchange.parts = [copied(request, topics=wave) for wave in waves[1:]]
        request.topics = waves[0]
        exchange.keep(_LISTED, listed)
        exchange.wants_response = True
        if exchange.api_version >= _FIRST_WITH_OFFSET:
            exchange.read_batches += sum(len(topic.asked) for topic in listed.topics)
        return FORWARD

    def on_response(self, exchange: Exchange, response: ListOffsetsResponse) -> ResponseStep:
        """Look into the logs, and answer."""
        listed = exchange.find(_LISTED)
        if listed is None:
            return FORWARD
        broker = _by_question(exchange, listed, response)
        if exchange.api_version >= _FIRST_WITH_OFFSET:
            need = _scan(exchange, listed, broker)
            if need is not None:
                return need
        own = {topic.name for topic in listed.topics}
        response.topics = [topic for topic in in_steps(response.topics) if topic.name not in own]
        ends, starts = exchange.find(_ENDS) or {}, exchange.find(_STARTED) or {}
        virtual = virtual_topics(exchange)
        virtual.count("index_distrusted", sum(one.is_distrusted for one in ends.values()))
        for topic in in_steps(listed.topics):
            shown = [
                _start_of(topic.name, one, broker, starts, has_index=virtual.index is not None)
                if one.time in _STARTS
                else _answer_of(topic.name, one, broker, ends, listed.scans.get((topic.name, one)))
                for one in in_steps(topic.asked)
            ]
            response.topics.append(
                ListOffsetsResponse.ListOffsetsTopicResponse(
                    name=topic.name, partitions=[*shown, *topic.refused]
                )
            )
        return FORWARD


def _questions(time: int, version: int) -> tuple[int, ...]:
    """Return what the broker is asked about a physical partition."""
    # The end is not before the start, nor the first record behind the end.
    if version < _FIRST_WITH_OFFSET:
        return (time,)
    if time == LATEST:
        return (EARLIEST, LATEST)
    if time in _STARTS:
        return (time, LATEST)
    return (EARLIEST, time) if time == LATEST_TIERED else (time,)


def _add_waves(
    waves: list[list[Any]], listed: _Listed, topic: Any, questions: dict[int, dict[int, Any]]
) -> None:
    most = max((len(some) for some in questions.values()), default=0)
    while len(waves) < most:
        waves.append([])
    while len(listed.times) < len(waves):
        listed.times.append({})
    for at in range(most):
        some = [list(times.values())[at] for times in in_steps(questions.values()) if len(times) > at]
        for one in some:
            listed.times[at][topic.name, one.partition_index] = one.timestamp
        waves[at].append(copied(topic, partitions=some))


_Answers = dict[_Answered, Any]
"""The broker's."""


def _by_question(exchange: Exchange, listed: _Listed, response: ListOffsetsResponse) -> _Answers:
    found: _Answers = {}
    answers = [response, *exchange.part_answers]
    for times, answer in zip(listed.times, answers, strict=True):
        for topic in in_steps(answer.topics):
            for one in in_steps(topic.partitions):
                time = times.get((topic.name, one.partition_index))
                if time is not None:
                    found[topic.name, one.partition_index, time] = one
    return found


def _scan(exchange: Exchange, listed: _Listed, broker: _Answers) -> StoredBatches | None:
    """Return what has to be read for the answer; None: nothing more."""
    virtual, scans = virtual_topics(exchange), exchange.find(_SCANS)
    met = exchange.met.get(StoredBatches)
    assert met is None or isinstance(met, StoredBatches)
    if scans is None:
        scans = OffsetScans()
        exchange.keep(_SCANS, scans)
        exchange.keep(_ENDS, _begin_ends(exchange, listed, broker, scans))
        exchange.keep(_STARTED, _begin_starts(exchange, listed, broker, scans))
        _begin_firsts(exchange, listed, broker, scans)
    elif met is not None:
        virtual.count("scanned_bytes", scans.take(met))
    was_over = scans.is_over
    need = scans.next_need(met)
    if need is None:
        exchange.read_later = max(0, scans.reads - sum(len(topic.asked) for topic in listed.topics))
    if scans.is_over and not was_over:
        virtual.hit(LIMIT)
    return need


def _begin_ends(
    exchange: Exchange, listed: _Listed, broker: _Answers, scans: OffsetScans
) -> dict[_Answered, EndScan]:
    virtual, made = virtual_topics(exchange), dict[_Answered, EndScan]()
    for topic in in_steps(listed.topics):
        physical_topic, wanted = virtual.at_brokers(topic.name), dict[tuple[int, int], set[PartitionGroup]]()
        for one in in_steps(topic.asked):
            if one.time in (LATEST, LATEST_TIERED):
                wanted.setdefault((one.physical, one.time), set()).add(one.group)
        for (physical, time), groups in in_steps(wanted.items()):
            start = broker.get((topic.name, physical, EARLIEST))
            end = broker.get((topic.name, physical, time))
            if start is None or end is None or start.error_code or end.error_code or end.offset < 0:
                continue
            # What is remembered of a log says nothing of the end of what is in remote storage.
            is_end = time == LATEST
            scan = EndScan(
                (physical_topic, physical),
                start.offset,
                end.offset + (not is_end),
                groups,
                virtual.stretches if is_end else KnownStretches(),
                end.leader_epoch,
                is_keyed=topic.partitions.is_keyed,
                index=virtual.index if is_end else None,
                now_ms=exchange.scope.namespace.now_ms(),
            )
            made[topic.name, physical, time] = scan
            scans.add(scan)
    return made


def _begin_starts(
    exchange: Exchange, listed: _Listed, broker: _Answers, scans: OffsetScans
) -> dict[_Answered, StartScan]:
    known, now_ms = virtual_topics(exchange).starts, exchange.scope.namespace.now_ms()
    made: dict[_Answered, StartScan] = {}
    for topic in in_steps(listed.topics):
        physical_topic = virtual_topics(exchange).at_brokers(topic.name)
        for one in in_steps(topic.asked):
            key = topic.name, one.physical, one.time
            begin, end = broker.get(key), broker.get((topic.name, one.physical, LATEST))
            if one.time not in _STARTS or begin is None or begin.error_code or begin.offset < 0:
                continue
            scan = made.get(key)
            if scan is None:
                last = begin.offset if end is None or end.error_code else end.offset
                scan = made[key] = StartScan(
                    (physical_topic, one.physical),
                    (begin.offset, last),
                    map(PartitionGroup, range(topic.partitions.groups)),
                    # Where other logs begin on the way to remote storage is not remembered.
                    known if one.time == EARLIEST else KnownStarts(),
                    now_ms,
                    is_keyed=topic.partitions.is_keyed,
                )
                scans.add(scan)
            scan.want(one.group)
            if exchange.scope.recent is not None:
                exchange.scope.recent.note_beginner(topic.name, one.physical)
    return made


def _begin_firsts(exchange: Exchange, listed: _Listed, broker: _Answers, scans: OffsetScans) -> None:
    groups: dict[Place, dict[bytes, int]] = {}
    for topic in in_steps(listed.topics):
        physical_topic = virtual_topics(exchange).at_brokers(topic.name)
        for one in in_steps(topic.asked):
            if one.time < 0:
                continue
            answer = broker.get((topic.name, one.physical, one.time))
            if answer is None or answer.error_code or answer.offset < 0:
                continue
            place = physical_topic, one.physical
            scan = FirstScan(
                place,
                one.group,
                answer.offset,
                one.time,
                Found(answer.offset, answer.timestamp),
                groups.setdefault(place, {}),
                is_keyed=topic.partitions.is_keyed,
            )
            listed.scans[topic.name, one] = scan
            scans.add(scan)


def _answer_of(
    name: str,
    one: _Asked,
    broker: _Answers,
    ends: dict[_Answered, EndScan],
    first: FirstScan | None,
) -> Any:
    """Return the answer for a virtual partition."""
    answer = broker.get((name, one.physical, one.time))
    if answer is None:
        return _answer(one.partition, AGAIN, -1)
    end = ends.get((name, one.physical, one.time))
    if end is not None and not end.is_refused:
        found = end.end_of(one.group)
        if one.time == LATEST_TIERED and not found.error_code:
            start = broker[name, one.physical, EARLIEST]
            found = Found(-1 if found.offset <= start.offset else found.offset - 1)
        return _changed(answer, one, found)
    if first is None:
        return copied(answer, partition_index=one.partition)
    found = first.answer
    if first.is_at_end and not found.error_code and first.found is None:
        found = Found(-1)
    return _changed(answer, one, found)


def _start_of(
    name: str, one: _Asked, broker: _Answers, starts: dict[_Answered, StartScan], *, has_index: bool
) -> Any:
    """Return the answer for the start of a virtual partition."""
    answer, scan = broker.get((name, one.physical, one.time)), starts.get((name, one.physical, one.time))
    if answer is None:
        return _answer(one.partition, AGAIN, -1)
    if scan is None or scan.is_refused:
        return copied(answer, partition_index=one.partition)
    first = scan.first_of(one.group)
    if first is None and scan.error is not None:
        return _changed(answer, one, scan.error)
    if first is None:
        # Where there is no record the partition begins where it ends; by the index, where the log begins.
        last, first = broker.get((name, one.physical, LATEST)), scan.end
        if last is not None and not last.error_code:
            first = min(first, max(answer.offset, 0 if has_index else least_end(last.offset)))
    return _changed(answer, one, Found(first, answer.timestamp))


def _changed(answer: Any, one: _Asked, found: Found) -> Any:
    if found.error_code:
        return _answer(one.partition, found, -1)
    epoch = answer.leader_epoch if found.offset >= 0 else -1
    return copied(
        answer,
        partition_index=one.partition,
        offset=found.offset,
        timestamp=found.timestamp_ms,
        leader_epoch=epoch,
    )


def _answer(partition: int, found: Found, leader_epoch: int) -> Any:
    return ListOffsetsResponse.ListOffsetsPartitionResponse(
        partition_index=partition,
        error_code=found.error_code,
        timestamp=found.timestamp_ms,
        offset=found.offset,
        leader_epoch=leader_epoch,
    )
