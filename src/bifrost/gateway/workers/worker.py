"""One worker process: a gateway whose ports, counters and limits are those of all workers together.

supervisor ──serve──▶ gateway made ──▶ ready ──▶ … prepare, take or abandon: a reload … ──stop──▶ drained, status 0
"""

import asyncio
import contextlib
import ctypes
import os
import signal
import socket
from dataclasses import dataclass
from typing import Any

import structlog
import uvloop

from bifrost.gateway.errors import BrokerError, StartError
from bifrost.gateway.gateway import Gateway
from bifrost.gateway.loop.loop_guard import keep
from bifrost.gateway.reload.reconfiguration import Prepared, prepare
from bifrost.gateway.sockets.descriptor_table import make_room
from bifrost.gateway.workers.channel import Channel, Message, Refused
from bifrost.gateway.workers.handover import Handover, loads
from bifrost.gateway.workers.shared_counters import SharedCounters
from bifrost.gateway.workers.shared_limits import Places, SharedLimits
from bifrost.gateway.workers.worker_peers import WorkerPeers

log = structlog.get_logger()

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Inherited:
    """The arguments of a worker's start; descriptors are open."""

    number: int
    workers: int
    supervisor_pid: int
    control: int
    """Descriptor of the socket of its `Channel`."""
    arriving: int
    """Descriptor of the socket of its `GivenPorts`."""
    shared_limits: int
    """Descriptor of the memory of its `SharedLimits`."""
    counters: int
    """Descriptor of the memory of its `SharedCounters`."""


def run_worker(inherited: Inherited) -> int:
    """Run a worker until the supervisor or a signal ends it; return the exit status."""
    _die_with(inherited.supervisor_pid)
    return uvloop.run(Worker(inherited).run())


class Worker:
    """This worker process."""

    def __init__(self, inherited: Inherited) -> None:
        """Open what was inherited."""
        self._inherited = inherited
        self._shared_limits = SharedLimits(inherited.shared_limits, inherited.workers)
        self._counters = SharedCounters(inherited.counters)
        self._places = Places()
        self._gateway: asyncio.Future[Gateway]
        self._peers: asyncio.Future[WorkerPeers]
        self._first: asyncio.Future[Handover]
        self._prepared: Prepared | None = None
        self._stop, self._hurry = asyncio.Event(), asyncio.Event()

    async def run(self) -> int:
        """Serve until told to stop, then drain."""
        loop = asyncio.get_running_loop()
        self._gateway, self._first = loop.create_future(), loop.create_future()
        self._peers = loop.create_future()
        for number in (signal.SIGINT, signal.SIGTERM):
            # Service managers may signal all processes when they stop a service: that is no reason to hurry.
            loop.add_signal_handler(number, self._stop.set)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # The supervisor reads the configuration.
        channel = await Channel.open(socket.socket(fileno=self._inherited.control))
        listening = loop.create_task(channel.run(self._handle))
        listening.add_done_callback(_lose_supervisor)
        handover = await self._first
        peers = WorkerPeers(
            self._inherited.number,
            self._shared_limits,
            self._counters,
            handover.key,
            self._places,
            channel,
            socket.socket(fileno=self._inherited.arriving),
            handover.epoch,
        )
        living: asyncio.Task[None] | None = None
        try:
            gateway = Gateway(handover.config, None, peers)
            make_room(handover.config.proxy.limits.max_connections)
            self._gateway.set_result(gateway)
            self._peers.set_result(peers)
            living = loop.create_task(keep("member", lambda: peers.live(gateway)))
            peers.given.start()
            return await gateway.run(self._stop, self._hurry)
        except StartError as error:
            with contextlib.suppress(Exception):
                await channel.ask({"do": "failed", "error": str(error)})
            return 1
        finally:
            listening.remove_done_callback(_lose_supervisor)
            if living is not None:
                living.cancel()

    async def _handle(self, message: Message, content: bytes) -> Message | None:
        match message["do"]:
            case "work":
                self._first.set_result(self._take_over(content))
            case "prepare":
                await self._prepare(self._take_over(content))
            case "take":
                prepared, self._prepared = self._prepared, None
                assert prepared is not None
                await prepared.take_effect()
            case "abandon":
                if self._prepared is not None:
                    prepared, self._prepared = self._prepared, None
                    await prepared.abandon()
            case "write":
                journaling = (await self._gateway).journaling
                assert journaling is not None
                journaling.note_events(message["events"])
            case "known":
                (await self._peers).shared_topics.hear(content)
            case "stop":
                self._stop.set()
            case "hurry":
                self._stop.set()
                self._hurry.set()
        return None

    def _take_over(self, content: bytes) -> Handover:
        handover = loads(content)
        self._places.take(handover.places)
        return handover

    async def _prepare(self, handover: Handover) -> None:
        gateway = await self._gateway
        if self._prepared is not None:
            await self._prepared.abandon()
            self._prepared = None
        try:
            self._prepared = await prepare(gateway, handover.config)
        except (BrokerError, StartError) as error:
            raise Refused(str(error)) from None


def _lose_supervisor(_: object) -> None:
    """End this process: without its supervisor it gets no connections, and its counters are not read."""
    log.error("supervisor_lost")
    os._exit(1)


def _die_with(supervisor_pid: int) -> None:
    """Have the kernel kill this process when the supervisor ends, whatever this process is doing.

    Source: PR_SET_PDEATHSIG(2const). The supervisor starts workers from its main thread, which ends only with it.
    """
    libc: Any = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != supervisor_pid:
        os._exit(1)
