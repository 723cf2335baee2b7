"""A gateway of two workers."""

from __future__ import annotations

import time
from collections.abc import Callable

from prometheus_client.parser import text_string_to_metric_families

from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.gateways.admin_port import ask
from support.gateways.reloadable_gateway import Reloadable

WORKERS = range(2)


class WorkerGateway(Reloadable):
    """Its configuration says so."""

    def pids(self) -> dict[int, int]:
        """Return the processes of its workers, by their numbers: those that were ready last."""
        ready = [event for event in self.events() if event["event"] == "worker_ready"]
        return {event["worker"]: event["pid"] for event in ready}

    def samples(self) -> dict[tuple[str, ...], float]:
        """Return the metrics, by name and the values of the labels, which stand in the order of their names."""
        _, text = ask(self, "/metrics")
        return {
            (sample.name, *sample.labels.values()): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def connections(self) -> list[int]:
        """Return how many connections each worker has."""
        samples = self.samples()
        return [int(samples["kafka_proxy_worker_connections", str(number)]) for number in WORKERS]

    def worker_of(self, client: RawClient) -> int:
        """Return the number of the worker that an authenticated client is connected to.

        Another client may have had its port before, so its event is the last one.
        """
        self.await_event(0, event="authenticated", peer=client.address)
        found = [e for e in self.events() if e["event"] == "authenticated" and e["peer"] == client.address]
        return int(found[-1]["worker"])

    def client_at(self, worker: int, endpoint: Endpoint) -> RawClient:
        """Connect until it is to this worker; the others are closed."""
        for _ in range(50):
            client = RawClient.authenticated(endpoint)
            if self.worker_of(client) == worker:
                return client
            client.close()
        raise AssertionError(f"no connection went to worker {worker}")


def await_true(is_so: Callable[[], bool], what: str, timeout_s: float = 15.0) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)
