"""The source of DEKs: what is in the cache is at hand; for the rest a thread asks the KEK's service.

Each KEK has its own threads, so that one whose service is slow holds up no other. Of several messages that need the
same DEK one call is made. While a service is away, a message goes on asking until it has waited as long as it may
(`max_record_wait_ms`); cached DEKs serve meanwhile, until they expire.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import structlog

from bifrost.encryption.dek import DekLimits
from bifrost.encryption.errors import EncryptionError, KekUnavailable
from bifrost.encryption.wrapped_dek import read_wrapped_dek
from bifrost.keys.dek_keeper import RETRY_MS, DekKeeper
from bifrost.keys.kek_providers import KekProviders
from bifrost.transforms.encryption.dek_needs import SOURCE, DekToOpen, DekToSeal, KeyOfTopic
from bifrost.transforms.encryption.envelope_encryption import kek_of
from bifrost.transforms.record_transform import Failure
from bifrost.transforms.transform_kind import kind_of

if TYPE_CHECKING:
    from bifrost.config.records.record_filter import RecordFilter
    from bifrost.encryption.dek import Dek, WritingDek
    from bifrost.encryption.kek import Kek
    from bifrost.encryption.topic_key import TopicKey
    from bifrost.gateway.sources.source_names import SourceContext

log = structlog.get_logger()

THREADS = 4
"""Calls to the service of one KEK at a time: enough for some hundred new topics in a second."""
LOG_MS = 10_000
"""Least time between two log lines about one KEK."""

Need = DekToSeal | DekToOpen | KeyOfTopic


class DekSource:
    """The DEKs of a process; a `Source`."""

    def __init__(self, context: SourceContext) -> None:
        """Begin without any."""
        self._context = context
        self._keks: dict[Kek, _KekInUse] = {}

    def cached(self, key: Need) -> object | None:
        """Return a DEK that is in the cache, or that its KEK has just refused; and renew one that is due."""
        return self._of(key.kek).cached(key)

    async def answers(self, keys: Collection[Need]) -> Mapping[Need, object]:
        """Return the DEKs; a message may go on asking while a service is away, and is cancelled when it is late."""
        found = await asyncio.gather(*(self._answer(key) for key in keys))
        return dict(zip(keys, found, strict=True))

    async def _answer(self, key: Need) -> object:
        while True:
            # Looked up each time: a reload may have given it up meanwhile.
            found = await asyncio.shield(asyncio.wrap_future(self._of(key.kek).ask(key)))
            if found is None:
                # It was a renewal, which leaves nothing where it fails; then the KEK is asked for the message.
                continue
            if not isinstance(found, Failure) or not found.is_retriable:
                return found
            await asyncio.sleep(RETRY_MS / 1000)

    def configure(self, filters: Collection[RecordFilter]) -> None:
        """Make what these filters need, and give up other KEKs; say of each key file that it is in use."""
        wanted = {kek_of(one.config) for one in filters if SOURCE in kind_of(one.name).sources}
        for kek in self._keks.keys() - wanted:
            self._keks.pop(kek).close()
        for kek in wanted:
            self._of(kek).prepare()

    def close(self) -> None:
        """Give up all KEKs."""
        self.configure(())

    def _of(self, kek: Kek) -> _KekInUse:
        found = self._keks.get(kek)
        if found is None:
            found = self._keks[kek] = _KekInUse(kek, self._context)
        return found


class _KekInUse:
    """One KEK, its DEKs, and the threads that ask about them."""

    def __init__(self, kek: Kek, context: SourceContext) -> None:
        self._kek, self._now_ns = kek, context.now_ns
        self._keeper = DekKeeper(self._now_ms, limits=DekLimits(max_age_ms=kek.max_age_ms))
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="kek")
        self._providers: KekProviders | None = None
        self._asked: dict[Need, Future[object]] = {}
        self._told_ms: int | None = None

    def _now_ms(self) -> int:
        return self._now_ns() // 1_000_000

    def prepare(self) -> None:
        """Make the provider of a key file, which tells that it is for trying out; the others take time to load."""
        if self._kek.provider == "file" and self._providers is None:
            try:
                self._providers = KekProviders(self._kek)
            except EncryptionError as error:
                self._tell(error)

    def cached(self, key: Need) -> object | None:
        """Return what is known about a DEK without asking."""
        providers = self._providers
        if providers is None:
            return None
        if isinstance(key, DekToSeal):
            found = self._keeper.cached_writing(providers.writing, key.context)
            if found is not None and self._keeper.is_due(providers.writing, key.context):
                self.ask(key, renews=True)
            return found
        try:
            if isinstance(key, KeyOfTopic):
                opening = providers.opening(key.sealing.wrapped.as_bytes())
                return self._keeper.cached_topic_key(opening, key.context, key.sealing)
            return self._keeper.cached_reading(providers.opening(key.header), key.context, key.header)
        except EncryptionError:
            return self._failure(key, is_retriable=False)

    def ask(self, key: Need, *, renews: bool = False) -> Future[object]:
        """Ask about a DEK in a thread, or return the call that is under way."""
        under_way = self._asked.get(key)
        if under_way is not None:
            return under_way
        made = self._asked[key] = self._threads.submit(self._call, key, renews)
        made.add_done_callback(lambda _: self._asked.pop(key, None))
        return made

    def _call(self, key: Need, renews: bool) -> WritingDek | Dek | TopicKey | Failure | None:
        """Return a DEK, or why there is none; in a thread."""
        try:
            if self._providers is None:
                self._providers = KekProviders(self._kek)
            providers = self._providers
            if isinstance(key, DekToOpen):
                return self._keeper.reading(providers.opening(key.header), key.context, key.header)
            if isinstance(key, KeyOfTopic):
                opening = providers.opening(key.sealing.wrapped.as_bytes())
                return self._keeper.topic_key(opening, key.context, key.sealing)
            if renews:
                self._keeper.renew(providers.writing, key.context)
                return None
            return self._keeper.writing(providers.writing, key.context)
        except EncryptionError as error:
            self._tell(error)
            return self._failure(key, is_retriable=isinstance(error, KekUnavailable))

    def _failure(self, key: Need, *, is_retriable: bool) -> Failure:
        """Return what clients are told: the KEK, and no path or address, which the log has."""
        named = key.kek.key_id
        if isinstance(key, KeyOfTopic):
            named = key.sealing.wrapped.kek
        if isinstance(key, DekToOpen):
            try:
                named = read_wrapped_dek(key.header).kek
            except EncryptionError:
                return Failure("the key of the envelope is malformed", is_retriable=False)
        what = (
            "cannot be asked now"
            if is_retriable
            else "is unknown, deleted or disabled, or not for this topic"
        )
        return Failure(f"the KEK {named} {what}", is_retriable=is_retriable)

    def _tell(self, error: EncryptionError) -> None:
        """Log why a KEK gives no DEK, not too often."""
        now_ms = self._now_ms()
        if self._told_ms is not None and now_ms - self._told_ms < LOG_MS:
            return
        self._told_ms = now_ms
        provider, key = self._kek.provider, self._kek.key_id
        if isinstance(error, KekUnavailable):
            log.warning("kek_unavailable", provider=provider, key=key, error=str(error))
        else:
            log.warning("kek_unknown", provider=provider, key=key, error=str(error))

    def close(self) -> None:
        """Give it up; a call that is under way ends by itself."""
        self._threads.shutdown(wait=False)
        if self._providers is not None:
            self._providers.close()


def make(context: SourceContext) -> DekSource:
    """Return the source of DEKs."""
    return DekSource(context)
