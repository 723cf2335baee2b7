"""The child of `streams_shop.py`: instances of a Kafka Streams application in this process's JVM, by JPype.

The application adds up a shop's turnover by region. Orders (`customer:amount`) are looked up in the table of customers
(`region`), which makes of a few lines every kind of topic that the library manages itself:

    orders -> repartition (with a number of partitions of its own) -> table -+
                                                                             +-> foreign-key join -> totals -> output
    customers ------------------------------------------------------> table -+

The join sends orders to the customers' partitions and is answered from there; the totals are grouped anew by region.
All tables, and both ends of the join, have changelogs. The totals do not depend on the order in which anything came.

It answers JSON lines, and imports nothing of ours: it is run as a script.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

JVM_OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xmx512m")
LOGGER = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"


class Driver:
    """The child's side: one method per operation, with plain values in and out."""

    WAIT_S = 30

    def __init__(self, jpype: Any) -> None:
        self._jpype = jpype
        self._java = jpype.JPackage("java")
        self._streams = jpype.JPackage("org").apache.kafka.streams
        self._instances: list[Any] = []

    def start(
        self, properties: dict[str, str], topics: dict[str, str], pattern: str | None, by_order: int
    ) -> int:
        """Start an instance, and return its number.

        Args:
            properties: of Kafka Streams.
            topics: the names of `orders`, `customers` and `totals`.
            pattern: instead of the name of `orders`.
            by_order: how many partitions the repartition topic of the orders has.
        """
        configuration = self._java.util.Properties()
        for key, value in properties.items():
            configuration.setProperty(key, value)
        orders = topics["orders"] if pattern is None else self._java.util.regex.Pattern.compile(pattern)
        topology = self._topology(orders, topics["customers"], topics["totals"], by_order)
        instance = self._streams.KafkaStreams(topology, configuration)
        instance.start()
        self._instances.append(instance)
        return len(self._instances) - 1

    def close(self, number: int) -> bool:
        """Close an instance, which leaves its group; return whether it did in time."""
        options = self._streams.CloseOptions
        leave = options.GroupMembershipOperation.LEAVE_GROUP
        wait = self._java.time.Duration.ofSeconds(self.WAIT_S)
        closed = self._instances[number].close(options.groupMembershipOperation(leave).withTimeout(wait))
        return bool(closed)

    def state(self, number: int) -> str:
        return str(self._instances[number].state())

    def tasks(self, number: int) -> list[list[list[Any]]]:
        """Return the active tasks and the standbys of an instance: the ID and the partitions of each."""
        threads = list(self._instances[number].metadataForLocalThreads())
        kinds = [thread.activeTasks() for thread in threads], [thread.standbyTasks() for thread in threads]
        return [
            sorted([str(task.taskId()), sorted(map(str, task.topicPartitions()))] for task in self._all(kind))
            for kind in kinds
        ]

    def positions(self, number: int) -> list[list[Any]]:
        """Return how far each store of an instance is in its changelog, also of standbys: [name, partition, offset]."""
        lags = self._instances[number].allLocalStorePartitionLags()
        return [
            [str(store.getKey()), int(one.getKey()), int(one.getValue().currentOffsetPosition())]
            for store in lags.entrySet()
            for one in store.getValue().entrySet()
        ]

    @staticmethod
    def _all(sets: list[Any]) -> Iterator[Any]:
        for one in sets:
            yield from one

    def _topology(self, orders: Any, customers: str, totals: str, partitions: int) -> Any:
        of = self._streams.kstream
        builder = self._streams.StreamsBuilder()
        table = builder.table(customers, of.Materialized.as_("customers"))
        by_order = of.Repartitioned.as_("by-order").withNumberOfPartitions(partitions)
        bought = builder.stream(orders).repartition(by_order).toTable(of.Materialized.as_("orders"))
        customer_of = self._function("java.util.function.Function", _customer)
        sold = bought.join(table, customer_of, self._function(f"{_KSTREAM}.ValueJoiner", _sale))
        key_value = self._streams.KeyValue
        by_region = self._function(
            f"{_KSTREAM}.KeyValueMapper", lambda _, sale: key_value(*str(sale).split(":"))
        )
        reducer = f"{_KSTREAM}.Reducer"
        summed = sold.groupBy(by_region, of.Grouped.as_("by-region")).reduce(
            self._function(reducer, lambda total, more: str(int(str(total)) + int(str(more)))),
            self._function(reducer, lambda total, less: str(int(str(total)) - int(str(less)))),
            of.Materialized.as_("totals"),
        )
        summed.toStream().to(totals)
        return builder.build()

    def _function(self, interface: str, function: Callable[..., Any]) -> Any:
        return self._jpype.JProxy(interface, {"apply": function})


_KSTREAM = "org.apache.kafka.streams.kstream"


def _customer(order: Any) -> str:
    return str(order).split(":")[0]


def _sale(order: Any, region: Any) -> str:
    return f"{region}:{str(order).split(':')[1]}"


def main() -> None:
    """Answer each line `[operation, arguments]` with `["gave", value]` or `["threw", class, message]`."""
    import jpype

    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # What Java prints is no answer.
    home = Path(sys.argv[1]).resolve().parents[1]
    library = next(home.glob("lib/**/libjvm.so"), None) or next(home.glob("lib/**/libjvm.*"))
    jpype.startJVM(str(library), *JVM_OPTIONS, LOGGER, classpath=os.environ["CLASSPATH"].split(":"))
    driver = Driver(jpype)
    for line in sys.stdin:
        operation, arguments = json.loads(line)
        try:
            answer = ["gave", getattr(driver, operation)(*arguments)]
        except jpype.JException as error:
            answer = ["threw", str(error.getClass().getSimpleName()), str(error.getMessage())]
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
