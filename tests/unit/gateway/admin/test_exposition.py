"""Metrics as text: the same as Prometheus's library writes, in many small steps."""

from collections.abc import Iterator

import pytest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from bifrost.gateway.admin.exposition import SAMPLES_AT_ONCE, exposition
from bifrost.gateway.loop.steps import at_once


class Everything(Collector):
    """Families of each kind that the gateway has, with so many series each."""

    def __init__(self, series: int) -> None:
        self._series = series

    def collect(self) -> Iterator[Metric]:
        names = [f'tenant {number}\n"' for number in range(self._series)]
        counter = CounterMetricFamily("requests", "Requests\nof \\ clients.", labels=["tenant"])
        histogram = HistogramMetricFamily("seconds", "How long.", labels=["tenant"])
        for number, name in enumerate(names):
            counter.add_metric([name], number)
            histogram.add_metric([name], [("0.1", 1), ("+Inf", 2)], 0.5 * number)
        yield from (counter, GaugeMetricFamily("ready", "Whether it is.", value=1), histogram)


@pytest.mark.parametrize("series", [0, 1, SAMPLES_AT_ONCE, SAMPLES_AT_ONCE + 1, 100])
def test_the_text_is_that_of_the_library(series: int) -> None:
    everything = Everything(series)

    assert at_once(exposition(everything.collect())) == generate_latest(everything)


def test_each_step_writes_few_samples_and_frees_them() -> None:
    (family, *_) = Everything(1000).collect()
    last = family.samples[-SAMPLES_AT_ONCE:]

    def families() -> Iterator[Metric | None]:
        yield None
        yield family

    steps = sum(1 for _ in exposition(families()))

    assert steps >= 1000 / SAMPLES_AT_ONCE
    assert family.samples == last
