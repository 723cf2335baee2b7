"""AddPartitionsToTxn and DescribeTransactions: a transaction has physical partitions, and clients see virtual ones.

A broker knows which physical partitions are part of a transaction. So all virtual partitions of one are added with the
first of them, and all are shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bifrost.filters.filter import Exchange, Note, ResponseFilter
from bifrost.filters.steps import FORWARD, Answer, RequestStep, ResponseStep
from bifrost.filters.virtual.division import NO_PARTITION, virtual_topics
from bifrost.tenancy.virtual_partitions.partition_map import PhysicalPartition, VirtualPartition
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import AddPartitionsToTxnResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
    from bifrost.wire.entity import Entity
    from bifrost.wire.messages import AddPartitionsToTxnRequest, DescribeTransactionsResponse

_ADDED: Note[dict[str, list[int]]] = Note("virtual_partitions_added_to_transaction")


class AddedToTransactionFilter:
    """Adds the physical partitions."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: AddPartitionsToTxnRequest) -> RequestStep:
        """Put them in the place of the virtual ones; of versions that brokers alone send there is none here."""
        virtual, added = virtual_topics(exchange), dict[str, list[int]]()
        if _names_unknown(exchange, request):
            return Answer(_refusal(exchange, request))
        for topic in in_steps(request.v3_and_below_topics):
            partitions = virtual.map_of(topic.name)
            if partitions is None:
                continue
            added.setdefault(topic.name, []).extend(topic.partitions)
            places = (
                partitions.place_of(VirtualPartition(number))[1] for number in in_steps(topic.partitions)
            )
            topic.partitions = list(dict.fromkeys(places))
        if added:
            exchange.keep(_ADDED, added)
            exchange.wants_response = True
        return FORWARD

    def on_response(self, exchange: Exchange, response: AddPartitionsToTxnResponse) -> ResponseStep:
        """Say of each virtual partition what the broker says of its physical one."""
        virtual, added = virtual_topics(exchange), exchange.find(_ADDED) or {}
        new = AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult
        for topic in in_steps(response.results_by_topic_v3_and_below):
            partitions = virtual.map_of(topic.name)
            if partitions is None or topic.name not in added:
                continue
            codes = {
                one.partition_index: one.partition_error_code for one in in_steps(topic.results_by_partition)
            }
            topic.results_by_partition = [
                new(
                    partition_index=number,
                    partition_error_code=codes[partitions.place_of(VirtualPartition(number))[1]],
                )
                for number in in_steps(dict.fromkeys(added[topic.name]))
                if partitions.place_of(VirtualPartition(number))[1] in codes
            ]
        return FORWARD


def _names_unknown(exchange: Exchange, request: AddPartitionsToTxnRequest) -> bool:
    """Whether a request names a virtual partition that does not exist."""
    virtual = virtual_topics(exchange)
    for topic in in_steps(request.v3_and_below_topics):
        partitions = virtual.map_of(topic.name)
        if partitions is not None and not all(map(partitions.has, topic.partitions)):
            return True
    return False


def _refusal(exchange: Exchange, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
    """Return a broker's answer where partitions do not exist: none of the others is added (KafkaApis)."""
    virtual, new = virtual_topics(exchange), AddPartitionsToTxnResponse
    answer = AddPartitionsToTxnResponse()
    for topic in in_steps(request.v3_and_below_topics):
        partitions = virtual.map_of(topic.name)
        results = [
            new.AddPartitionsToTxnPartitionResult(
                partition_index=number, partition_error_code=_code(partitions, number)
            )
            for number in in_steps(topic.partitions)
        ]
        answer.results_by_topic_v3_and_below.append(
            new.AddPartitionsToTxnTopicResult(name=topic.name, results_by_partition=results)
        )
    return answer


def _code(partitions: PartitionMap | None, number: int) -> int:
    is_known = partitions is None or partitions.has(number)
    return int(ErrorCode.OPERATION_NOT_ATTEMPTED) if is_known else NO_PARTITION


class DescribedTransactionsFilter(ResponseFilter):
    """Shows all virtual partitions of the physical ones that a transaction has."""

    def on_response(self, exchange: Exchange, response: DescribeTransactionsResponse) -> ResponseStep:
        """Put them in the place of the physical ones."""
        virtual = virtual_topics(exchange)
        for transaction in in_steps(response.transaction_states):
            for topic in in_steps(transaction.topics):
                partitions = virtual.map_of(topic.topic)
                if partitions is not None:
                    topic.partitions = sorted(_all_of(partitions, topic.partitions))
        return FORWARD


def _all_of(partitions: PartitionMap, numbers: list[int]) -> list[int]:
    return [
        number for physical in in_steps(numbers) for number in partitions.all_of(PhysicalPartition(physical))
    ]
