"""The parent process of the workers: it accepts connections and hands them to workers, and sees none of their bytes.

    start: workers, side by side ──all ready──▶ ports open ──▶ … one ends: another in its place … ──▶ stop: all drain

It also has what a gateway has only once: the operator's port, the reload of the configuration, the sums of the workers'
counters. What the workers share among themselves is in memory that all of them map (`shared_limits.py`).
"""

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections import Counter
from collections.abc import Awaitable, Sequence
from functools import partial
from typing import Any

import structlog

from bifrost.config.config_source import ConfigSource
from bifrost.config.model import Config
from bifrost.forwarding.lanes import NO_TENANT
from bifrost.gateway.admin.admin_pages import build_admin
from bifrost.gateway.admin.admin_place import AdminPlace
from bifrost.gateway.admin.counted import WorkerCounts
from bifrost.gateway.clients.endings import log_end
from bifrost.gateway.errors import StartError
from bifrost.gateway.gateway import now_ms, tell
from bifrost.gateway.loop.loop_guard import InternalErrors, keep, report
from bifrost.gateway.loop.loop_stalls import LoopStalls
from bifrost.gateway.reload.needs_restart import check_changes
from bifrost.gateway.reload.reloader import Reloader
from bifrost.gateway.sockets.listener_watch import ListenerWatch
from bifrost.gateway.workers.agreement import agree, take
from bifrost.gateway.workers.channel import Message
from bifrost.gateway.workers.child import SLOW_AFTER_MS, STUCK_AFTER_MS, Child, start
from bifrost.gateway.workers.handover import Handover, dumps
from bifrost.gateway.workers.kept_ports import KeptPort, KeptPorts, peer_of
from bifrost.gateway.workers.pace import MAX_FAILED_STARTS, RestartPace
from bifrost.gateway.workers.shared_limits import Places, SharedLimits
from bifrost.gateway.workers.spread import choose
from bifrost.gateway.workers.supervisor_journal import SupervisorJournal
from bifrost.gateway.workers.totals import OfAll, Processes, Sums
from bifrost.session.close_reason import CloseReason

log = structlog.get_logger()

LOOK_S = 0.25
"""Time between two looks at the workers."""

OTHERS_START_S = 10.0
"""Time for the other workers to become ready once the first one is; then clients are accepted all the same."""

END_AFTER_S = 10.0
"""Time that workers have to end beyond `drain_timeout_ms`; then they are killed."""


class Supervisor:
    """The supervisor of all workers of one gateway."""

    def __init__(self, config: Config, source: ConfigSource, workers: int, command: Sequence[str]) -> None:
        """Start nothing yet.

        Args:
            config: the configuration to serve.
            source: from which the configuration is read again.
            workers: number of workers.
            command: command that starts a worker: see `child.start`.
        """
        self.config, self._command = config, command
        self.shared_limits, self.places, self._sums = SharedLimits.create(workers), Places(), Sums()
        self._key = os.urandom(32)
        self._children: dict[int, Child] = {}
        self._paces = [RestartPace() for _ in range(workers)]
        self._starts, self._cpu_s = [0] * workers, [0.0] * workers
        self._ports: KeptPorts[Child] = KeptPorts(self)
        self.listener_watch = ListenerWatch(self._ports.served)
        self._is_open = False
        self._stopping = asyncio.Event()
        self._were_ready: set[int] = set()
        """The numbers of the workers that have been ready once."""
        self._first_ready_s: float | None = None
        self._changing = asyncio.Lock()
        """Held while the configuration changes, and while a worker is started with one."""
        self.internal_errors = InternalErrors(Counter())
        self.refused = Counter[CloseReason]()
        """Connections that the supervisor closed, by reason."""
        self._journal = SupervisorJournal(config.proxy.journal, lambda: self._children, self.refused)
        self.reloader = Reloader(self, source)
        self.stalls = LoopStalls()
        self._counted = OfAll(self, self._sums)
        processes = Processes(self._pids, lambda: sum(one.cpu_s for one in self.worker_counts()))
        count = partial(asyncio.to_thread, self._sums.refresh)
        more = (self._counted, self.reloader, self._is_healthy, count, processes)
        self._admin = AdminPlace(config, lambda config: build_admin(config, *more))
        self._seen: tuple[list[int], int] = ([], 0)
        """The brokers, and the number of tenants, that the last worker to become ready knew."""

    # -- what metrics and probes read

    @property
    def is_ready(self) -> bool:
        """Whether clients are accepted, and at least one worker can serve them."""
        return self._is_open and any(one.is_ready for one in self._children.values())

    def count_open(self) -> int:
        """Return how many connections are open or on their way to a worker; a dead worker's are gone."""
        return sum(child.connections for child in self._children.values() if child.status is None)

    def worker_counts(self) -> list[WorkerCounts]:
        """Return what is known of each worker."""
        found = []
        for number, starts in enumerate(self._starts):
            child = self._children.get(number)
            used_s = self._cpu_s[number] + (0.0 if child is None else child.cpu_s)
            is_running = child is not None and child.is_ready
            found.append(WorkerCounts(number, is_running, starts, child.connections if child else 0, used_s))
        return found

    def _pids(self) -> list[int]:
        return [
            os.getpid(),
            *(child.process.pid for child in self._children.values() if child.status is None),
        ]

    def _is_healthy(self) -> bool:
        """Whether the loop of at least one worker turns, or a worker is still starting."""
        now = now_ms()
        return any(one.silent_ms(now) < STUCK_AFTER_MS for one in self._children.values())

    # -- life

    async def run(self) -> int:
        """Serve until told to stop, then let all workers drain.

        Raises:
            StartError: no worker can serve.
        """
        stop, hurry = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()
        background: set[asyncio.Task[Any]] = set()

        def begin(work: Awaitable[Any]) -> None:
            task = asyncio.ensure_future(work)
            background.add(task)
            task.add_done_callback(background.discard)

        self.internal_errors.install(loop)
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, tell, stop, hurry)
        loop.add_signal_handler(signal.SIGHUP, lambda: begin(self.reloader.reload()))
        stopping: asyncio.Task[Any] = loop.create_task(stop.wait())
        keeping: set[asyncio.Task[None]] = set()
        self.stalls.start()
        try:
            self._add_places(self.config)
            await self._admin.open()
            keeping = {loop.create_task(self._keep(number)) for number in range(self.shared_limits.workers)}
            works = {
                "workers": self._look,
                "journal": self._journal.run,
                "listener_watch": self.listener_watch.run,
                "watch": self.reloader.watch,
            }
            for place, work in works.items():
                begin(keep(place, work))
            await asyncio.wait((stopping, *keeping), return_when=asyncio.FIRST_COMPLETED)
            for task in keeping:
                if task.done():
                    task.result()
        finally:
            self.stalls.stop()
            stopping.cancel()
            for task in tuple(background):
                task.cancel()
            await self._stop(keeping, hurry)
            self._admin.close()
            await asyncio.sleep(0)
            ends = self._counted.ends()
            log.info("stopped", ends={str(reason): count for reason, count in ends.items() if count})
        return 0

    async def _stop(self, keeping: set[asyncio.Task[None]], hurry: asyncio.Event) -> None:
        """Accept no more clients, and wait until the workers have drained."""
        self._is_open = False
        self._stopping.set()
        self._ports.close()
        drain_s = self.config.proxy.limits.drain_timeout_ms / 1000
        if self._children:
            log.info("draining", connections=self.count_open(), timeout_ms=int(drain_s * 1000))
        self._journal.tell_last()
        self._tell_all({"do": "stop"})
        hurrying = asyncio.get_running_loop().create_task(self._hurry(hurry))
        try:
            if keeping:
                await asyncio.wait(keeping, timeout=drain_s + END_AFTER_S)
            for child in self._children.values():
                log.warning("worker_killed", worker=child.number, detail="it did not end in time")
                child.kill()
            await asyncio.gather(*keeping, return_exceptions=True)
        finally:
            hurrying.cancel()
            self._sums.refresh()

    async def _hurry(self, hurry: asyncio.Event) -> None:
        await hurry.wait()
        self._tell_all({"do": "hurry"})

    def _tell_all(self, message: Message, content: bytes = b"", but: Child | None = None) -> None:
        for child in self._children.values():
            if child.channel is not None and child is not but:
                child.channel.tell(message, content)

    async def _look(self) -> None:
        """Check the workers periodically: their CPU time, and whether their loops turn."""
        while True:
            await asyncio.sleep(LOOK_S)
            now = now_ms()
            for child in tuple(self._children.values()):
                child.look()
                silent_ms = child.silent_ms(now)
                if silent_ms > STUCK_AFTER_MS:
                    log.error("worker_stuck", worker=child.number, pid=child.process.pid, silent_ms=silent_ms)
                    child.kill()
            first_s = self._first_ready_s
            if first_s is not None and time.monotonic() - first_s > OTHERS_START_S:
                self._open()

    # -- workers

    async def _keep(self, number: int) -> None:
        """Keep a worker of this number running."""
        while not self._stopping.is_set():
            served_s = 0.0
            try:
                served_s = await self._employ(number)
            except StartError:
                raise
            except Exception as error:  # The other workers go on, and this one is started again.
                report("worker", error, worker=number)
            if self._stopping.is_set():
                return
            pace = self._paces[number]
            delay_s = pace.delay_s(served_s)
            if not self._were_ready and pace.failures >= MAX_FAILED_STARTS:
                raise StartError("workers end before they are ready: the log says why")
            if delay_s:
                log.warning(
                    "worker_restarts_later", worker=number, retry_in_s=delay_s, failures=pace.failures
                )
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), delay_s)

    async def _employ(self, number: int) -> float:
        """Start a worker and handle its messages until it ends; return how long it served, in seconds."""
        async with self._changing:
            if self._stopping.is_set():
                return 0.0
            try:
                child, control, counters = start(number, self.shared_limits, self._command)
            except OSError as error:
                log.error("worker_not_started", worker=number, error=str(error))
                return 0.0
            self._children[number] = child
            self._starts[number] += 1
            self._sums.add(counters)
            log.info("worker_started", worker=number, pid=child.process.pid)
            epoch = self._journal.begin_epoch(number)
            handover = Handover(self.config, self._key, dict(self.places.by_tenant), epoch)
            await child.begin(control, dumps(handover))

        async def handle(message: Message, content: bytes) -> Message | None:
            return self._handle(child, message, content)

        connections = 0
        try:
            await child.stay(handle)
        finally:
            connections = child.connections
            del self._children[number]
            self._cpu_s[number] += child.cpu_s
            self._ports.lose(child)
            self.shared_limits.clear(number, len(self.places))
            self._sums.bury(counters)
        served_s = 0.0 if child.ready_s is None else time.monotonic() - child.ready_s
        self._log_end(child, served_s, connections)
        if child.failure is not None and not self._were_ready:
            raise StartError(child.failure)
        return served_s

    def _log_end(self, child: Child, served_s: float, connections: int) -> None:
        fields = {"worker": child.number, "pid": child.process.pid, "served_s": round(served_s, 1)}
        if self._stopping.is_set() or child.status == 0:
            log.info("worker_ended", **fields)
            return
        status = child.status or 0
        why = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
        log.warning("worker_died", **fields, by=why, error=child.failure, connections=connections)
        self._journal.note_death(child.number, why, connections)

    def _handle(self, child: Child, message: Message, content: bytes = b"") -> Message | None:
        """Do what a worker asks.

        Raises:
            Refused: it cannot be done.
        """
        match message["do"]:
            case "bind":
                number = self._ports.bind(child, message["name"], message["host"], message["port"])
                return {"number": number}
            case "serve":
                self._ports.serve(child, message["number"], message["stands_for"])
            case "leave":
                self._ports.leave(child, message["number"])
            case "known":
                self._tell_all(message, content, but=child)
            case "failed":
                child.failure = message["error"]
            case "ready":
                self._note_ready(child, message["brokers"], message["tenants"])
        return None

    def _note_ready(self, child: Child, brokers: list[int], tenants: int) -> None:
        child.ready_s = time.monotonic()
        self._first_ready_s = self._first_ready_s or child.ready_s
        self._were_ready.add(child.number)
        self._seen = brokers, tenants
        log.info("worker_ready", worker=child.number, pid=child.process.pid)
        self._ports.close_unwanted()
        if len(self._were_ready) == self.shared_limits.workers:
            self._open()

    def _open(self) -> None:
        """Open the ports to clients, once."""
        if self._is_open or self._stopping.is_set():
            return
        self._is_open = True
        self._ports.open()
        brokers, tenants = self._seen
        log.info("ready", brokers=brokers, tenants=tenants, workers=len(self._were_ready))

    # -- connections

    def can_give(self, port: KeptPort[Child]) -> bool:
        """Whether a worker can take a connection to this port now."""
        return any(child.can_take for child in port.serving)

    def give(self, port: KeptPort[Child], client: socket.socket) -> None:
        """Give a connection to the worker that has least to do."""
        with client:
            most = self.config.proxy.limits.max_connections
            if self.count_open() >= most:
                self._refuse(client, CloseReason.TOO_MANY_CONNECTIONS, f"{most} are open")
                return
            able = [child for child in port.serving if child.can_take]
            now = now_ms()
            able = [one for one in able if one.silent_ms(now) < SLOW_AFTER_MS] or able
            able.sort(key=lambda child: child.number)
            while able:
                child = able.pop(choose([one.load for one in able], port.number))
                if child.give(port.number, client):
                    return
            self._refuse(client, CloseReason.NO_WORKER, "all are starting, or have died")

    def _refuse(self, client: socket.socket, reason: CloseReason, detail: str) -> None:
        self.refused[reason] += 1
        log_end(reason, peer_of(client), None, detail)

    # -- another configuration

    def note_reload(self, outcome: str, text: str) -> None:
        """Have a worker write the outcome of a reload to the journal."""
        self._journal.note("reload", outcome, detail=text)

    async def reconfigure(self, config: Config) -> None:
        """Have all workers use another configuration, or none.

        Raises:
            StartError: a worker, or the operator's port, cannot use it; nothing has changed.
        """
        check_changes(self.config, config)
        async with self._changing:
            self._add_places(config)
            content = dumps(Handover(config, self._key, dict(self.places.by_tenant)))
            children = tuple(self._children.values())
            async with self._admin.moved(config):
                await agree(children, content)
            self.config = config
            for child, error in await take(children):
                # Its configuration is unknown now; the next worker starts with the new one.
                log.error("worker_killed", worker=child.number, detail=error)
                child.kill()

    def _add_places(self, config: Config) -> None:
        try:
            self.places.add(iter([NO_TENANT, *(tenant.name for tenant in config.tenants)]))
        except ValueError as error:
            raise StartError(str(error)) from None
