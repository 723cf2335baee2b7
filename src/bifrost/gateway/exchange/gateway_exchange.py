"""The part of one gateway process in the exchange: when it takes part, and what it writes, reads and sets then.

a tenant has a quota, and this worker's turn ──▶ every 250 ms: use ──record──▶ topic
                                                 records of all ──▶ shares ──▶ stretches of the budgets
"""

import asyncio
import hashlib
import socket
from collections import Counter

import structlog

from bifrost.config.quotas.quota_exchange import QuotaExchange
from bifrost.forwarding.clock import monotonic_ns
from bifrost.forwarding.exchange.exchange import Exchange
from bifrost.forwarding.exchange.exchange_record import ExchangeRecord, UnreadableRecord
from bifrost.forwarding.exchange.members import GONE_NS
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.exchange.context import ExchangeContext
from bifrost.gateway.exchange.exchange_counts import NO_SHARE, SHARE_UNITS, ExchangeCounts
from bifrost.gateway.exchange.exchange_link import ExchangeLink
from bifrost.gateway.exchange.exchange_topic import exchange_topic_settings
from bifrost.gateway.loop.loop_guard import keep
from bifrost.records.batch_reader import UnreadableBatch

log = structlog.get_logger()

PERIOD_S = 0.25
"""Time between two records of a gateway, 250 ms: four a second, each of at most some 12 KB."""

READ_PAUSE_S = 0.1
"""Time between two answers of the reader: at most ten a second, however many gateways there are."""

LOOK_S = 0.5
"""Time between two looks whether this process has to take part."""

RETRY_S = 0.5
"""Pause after a failure: a gateway that was cut off takes part again soon after it can."""

LEAVE_S = 1.0
"""How long a gateway that stops tries to say so; otherwise the others find out about as soon."""

REQUEST_TIMEOUT_MS = 2_000
"""How long a request may take: what comes later says nothing any more, and a dead connection is replaced soon."""

SHARES_PERIOD_NS = 2_000_000_000
"""Time between two looks at the shares of all budgets, for the metrics: there may be many."""

_WRITTEN, _NOT_WRITTEN, _READ, _UNREADABLE = "written", "not_written", "read", "unreadable"


class GatewayExchange:
    """One process's part in the exchange."""

    def __init__(self, gateway: ExchangeContext, settings: QuotaExchange) -> None:
        """Take no part yet; from now on the gateway's budgets are in memory that the exchange reads.

        Args:
            gateway: the gateway that takes part.
            settings: the configuration's section of the exchange.
        """
        self._gateway, self._settings = gateway, settings
        self._budgets = gateway.peers.share_budgets()
        member = hashlib.blake2b(gateway.peers.key, digest_size=8, person=b"bifrost member").digest()
        self._member = int.from_bytes(member, "big")
        self._key = f"{socket.gethostname()}/{member.hex()}".encode()
        self._records: Counter[str] = gateway.peers.counter("exchange_records")
        self._exchange: Exchange | None = None
        self._link: ExchangeLink | None = None
        self._problems: dict[str, str] = {}
        self._known: set[int] = set()
        self._shares_again_ns = 0
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Take part as soon as a tenant has a quota."""
        self._task = asyncio.get_running_loop().create_task(keep("quota_exchange", self._run))

    async def end(self) -> None:
        """Take part no more: the others have this gateway's shares at once."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._link is not None:
            last = ExchangeRecord(self._member, monotonic_ns(), leaves=True)
            try:
                async with asyncio.timeout(LEAVE_S):
                    await self._link.prepare()
                    await self._link.write(self._key, last.to_bytes())
            except (BrokerError, TimeoutError) as error:  # They find out within two seconds.
                log.warning("quota_exchange_not_left", topic=self._settings.topic, error=str(error))
            await self._link.close()

    def counts(self) -> ExchangeCounts:
        """Return the current counts; other threads may call this."""
        state = self.state()
        return ExchangeCounts(
            state["members"],
            state["budgets"],
            bool(state["is_up"]),
            state["lag_ms"],
            self._records.copy(),
            self._gateway.shared.quotas.shares(),
        )

    def state(self) -> dict[str, int]:
        """Return the numbers that go up and down; all are 0 in a worker that takes no part."""
        exchange = self._exchange
        if exchange is None:
            return {"members": 0, "budgets": 0, "is_up": 0, "lag_ms": 0}
        members = exchange.members
        return {
            "members": len(members.records()),
            "budgets": exchange.in_use,
            "is_up": int(members.is_current(monotonic_ns())),
            "lag_ms": members.lag_ns // 1_000_000,
        }

    def note(self, state: "Counter[str]", shares: "Counter[tuple[str, str]]") -> None:
        """Write the numbers that go up and down where the supervisor reads them.

        Args:
            state: by name, as `state` returns them.
            shares: in millionths, by limit and tenant; NO_SHARE: there is no such budget any more.
        """
        for name, number in self.state().items():
            state[name] = number
        now_ns = monotonic_ns()
        if now_ns >= self._shares_again_ns:
            self._shares_again_ns = now_ns + SHARES_PERIOD_NS
            found = self._gateway.shared.quotas.shares()
            for key in shares.keys() | found.keys():
                shares[key] = int(found[key] * SHARE_UNITS) if key in found else NO_SHARE

    async def _run(self) -> None:
        """Take part when it is this process's turn, for ever."""
        while True:
            if self._gateway.shared.quota_tables.has_any() and self._gateway.peers.takes_part():
                break
            await asyncio.sleep(LOOK_S)
        if self._link is not None:  # An error of the gateway's own has ended the try before this one.
            await self._link.close()
        cluster = self._gateway.clusters[self._settings.upstream or self._gateway.config.clusters[0].name]
        self._exchange = exchange = Exchange(self._member, self._budgets)
        self._link = link = ExchangeLink(cluster, exchange_topic_settings(self._settings), REQUEST_TIMEOUT_MS)
        exchange.begin(monotonic_ns())
        loop = asyncio.get_running_loop()
        both = loop.create_task(self._write(exchange, link)), loop.create_task(self._read(exchange, link))
        try:
            await asyncio.gather(*both)
        finally:
            # If one of them fails, the other one ends as well, before both begin again.
            for one in both:
                one.cancel()
            await asyncio.gather(*both, return_exceptions=True)
            link.lose_writer()
            link.lose_reader()

    # -- writing

    async def _write(self, exchange: Exchange, link: ExchangeLink) -> None:
        """Publish what is wanted, again and again."""
        loop = asyncio.get_running_loop()
        while True:
            began_s = loop.time()
            try:
                await link.prepare()
                if link.created:
                    log.info("quota_topic_created", topic=self._settings.topic)
                    link.created = False
                record = exchange.next_record(monotonic_ns())
                await link.write(self._key, record.to_bytes())
            except BrokerError as error:
                self._records[_NOT_WRITTEN] += 1
                link.lose_writer()
                self._note_problem("write", str(error))
                await asyncio.sleep(RETRY_S)
            else:
                self._records[_WRITTEN] += 1
                self._note_problem("write", "")
                await asyncio.sleep(max(PERIOD_S / 5, PERIOD_S - (loop.time() - began_s)))

    # -- reading

    async def _read(self, exchange: Exchange, link: ExchangeLink) -> None:
        """Take what all have published, again and again."""
        while True:
            try:
                is_new, contents = await link.read()
            except UnreadableBatch as error:
                self._refuse(exchange, str(error))
                await asyncio.sleep(READ_PAUSE_S)
                continue
            except BrokerError as error:
                link.lose_reader()
                self._note_problem("read", str(error))
                await asyncio.sleep(RETRY_S)
                continue
            self._note_problem("read", "")
            now_ns = monotonic_ns()
            if is_new:
                exchange.begin(now_ns)
            for content in contents:
                self._take(exchange, content, now_ns)
            exchange.settle(now_ns)
            self._tell_members(exchange)
            await asyncio.sleep(READ_PAUSE_S)

    def _take(self, exchange: Exchange, content: bytes | None, now_ns: int) -> None:
        try:
            record = ExchangeRecord.from_bytes(content or b"")
        except UnreadableRecord as error:
            self._refuse(exchange, str(error))
        else:
            self._records[_READ] += 1
            exchange.hear(record, now_ns)

    def _refuse(self, exchange: Exchange, problem: str) -> None:
        """Let no share grow for a while: what a gateway wants is not known."""
        self._records[_UNREADABLE] += 1
        exchange.block(monotonic_ns() + GONE_NS)
        if self._problems.get("record") != problem:
            self._problems["record"] = problem
            log.error("quota_record_unreadable", topic=self._settings.topic, error=problem)

    def _tell_members(self, exchange: Exchange) -> None:
        """Log which gateways have come and gone."""
        found = {one.member for one in exchange.members.others()}
        for member in found - self._known:
            log.info("quota_member_joined", member=f"{member:016x}", members=len(found) + 1)
        for member in self._known - found:
            log.info("quota_member_gone", member=f"{member:016x}", members=len(found) + 1)
        self._known = found

    def _note_problem(self, place: str, problem: str) -> None:
        """Log a failure once, and when it is over."""
        before = self._problems.get(place, "")
        if problem and problem != before:
            log.warning("quota_exchange_interrupted", topic=self._settings.topic, step=place, error=problem)
        elif before and not problem:
            log.info("quota_exchange_goes_on", topic=self._settings.topic, step=place)
        self._problems[place] = problem
