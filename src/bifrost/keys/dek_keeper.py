"""Makes DEKs, asks KEKs to wrap and unwrap them, and keeps what is good (`encryption/dek_cache.py`).

What is in the cache is there at once; anything else blocks for one call of the provider, in a thread that the caller
chooses. Of several threads that need the same DEK one asks, and the others get its answer. While a provider fails, its
cached DEKs serve until they expire; it is asked again after `RETRY_MS` at the earliest.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from bifrost.encryption.dek import DEK_BYTES, NONCE_PREFIX_BYTES, Dek, DekLimits, WritingDek
from bifrost.encryption.dek_cache import ReadingDeks, WritingDeks
from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.errors import KekUnavailable, UnknownKek
from bifrost.encryption.sealing_key import SEALING_CONTEXT, SealingKey, topic_key_of
from bifrost.encryption.topic_key import TopicKey
from bifrost.encryption.wrapped_dek import WrappedDek, read_wrapped_dek
from bifrost.keys.core_dumps import forbid_core_dumps
from bifrost.keys.kek_provider import KekProvider

RETRY_MS = 1_000
"""Least time between two calls about the same DEK when the first one failed: a KMS that struggles is not hammered."""
UNKNOWN_MS = 30_000
"""How long a KEK that does not unwrap a DEK is not asked about it again."""
MAX_FAILURES = 10_000
"""Failures that are remembered; the oldest make room."""


Opening = TypeVar("Opening")


class DekKeeper:
    """The DEKs of a process. Its methods may be called from several threads."""

    def __init__(
        self,
        now_ms: Callable[[], int],
        *,
        limits: DekLimits | None = None,
        writing: WritingDeks | None = None,
        reading: ReadingDeks[Dek] | None = None,
    ) -> None:
        """Begin without any, and let no core file of the process be written from now on.

        Args:
            now_ms: a monotonic clock, in milliseconds.
            limits: of DEKs that seal.
            writing: where they are kept.
            reading: where those that open are kept.
        """
        forbid_core_dumps()
        self._now_ms = now_ms
        self._limits = limits or DekLimits()
        self._writing = writing or WritingDeks()
        self._reading: ReadingDeks[Dek] = reading or ReadingDeks(max_age_ms=self._limits.max_age_ms)
        self._topic_keys = ReadingDeks[TopicKey](max_age_ms=self._limits.max_age_ms)
        self._failed: dict[object, tuple[int, str]] = {}
        self._lock = threading.Lock()
        self._asked: dict[object, threading.Event] = {}

    def cached_writing(self, provider: KekProvider, context: DekContext) -> WritingDek | None:
        """Return the DEK that seals for a topic, if it is there."""
        with self._lock:
            return self._writing.get(provider.name, context, self._now_ms())

    def is_due(self, provider: KekProvider, context: DekContext) -> bool:
        """Whether the DEK of a topic should be renewed (`renew`) while it still serves."""
        with self._lock:
            return self._writing.is_due(provider.name, context, self._now_ms())

    def writing(self, provider: KekProvider, context: DekContext) -> WritingDek:
        """Return the DEK that seals for a topic; make one if there is none.

        Raises:
            KekUnavailable, UnknownKek: see `KekProvider`.
        """
        with self._one_at_a_time((provider.name, context)):
            found = self.cached_writing(provider, context)
            return self._make(provider, context) if found is None else found

    def renew(self, provider: KekProvider, context: DekContext) -> None:
        """Make a new DEK that seals for a topic, if the one that does is due; a failure is left for later."""
        with self._one_at_a_time((provider.name, context)):
            if not self.is_due(provider, context):
                return
            try:
                self._make(provider, context)
            except (KekUnavailable, UnknownKek):
                with self._lock:
                    self._writing.postpone(provider.name, context, self._now_ms() + RETRY_MS)

    def cached_reading(self, provider: KekProvider, context: DekContext, header: bytes) -> Dek | None:
        """Return the DEK of an envelope, if it is there.

        Raises:
            UnknownKek: the KEK has just said that it does not unwrap it.
        """
        return self._cached(self._reading, provider, context, header)

    def reading(self, provider: KekProvider, context: DekContext, header: bytes) -> Dek:
        """Return the DEK of an envelope; ask its KEK if it is not there.

        Args:
            provider: the KEK that the rule of the topic names.
            context: the topic.
            header: `dek_header` of what was sealed.
        Raises:
            KekUnavailable, UnknownKek: see `KekProvider`.
            BrokenSeal: the header is none.
        """
        return self._unwrapped(
            self._reading,
            provider,
            context,
            header,
            context,
            lambda: read_wrapped_dek(header),
            lambda key, wrapped: Dek(_dek(provider, key), wrapped),
        )

    def cached_topic_key(
        self, provider: KekProvider, context: DekContext, sealing: SealingKey
    ) -> TopicKey | None:
        """Return the key of a topic, if it is there.

        Raises:
            UnknownKek: the KEK has just said that it does not unwrap the sealing key.
        """
        return self._cached(self._topic_keys, provider, context, _header_of(sealing))

    def topic_key(self, provider: KekProvider, context: DekContext, sealing: SealingKey) -> TopicKey:
        """Return the key of a topic; ask the KEK for the sealing key that it comes from, if it is not there.

        Raises:
            KekUnavailable, UnknownKek: see `KekProvider`.
        """
        return self._unwrapped(
            self._topic_keys,
            provider,
            context,
            _header_of(sealing),
            SEALING_CONTEXT,
            lambda: sealing.wrapped,
            lambda key, _: topic_key_of(sealing.checked(key), context),
        )

    def _cached(
        self, kept: ReadingDeks[Opening], provider: KekProvider, context: DekContext, header: bytes
    ) -> Opening | None:
        with self._lock:
            found = kept.get(context, _named(provider, header), self._now_ms())
        if found == "unknown":
            raise UnknownKek(f"{provider.name}: it does not unwrap the key")
        return found

    def _unwrapped(
        self,
        kept: ReadingDeks[Opening],
        provider: KekProvider,
        context: DekContext,
        header: bytes,
        wrapped_for: DekContext,
        wrapped_in: Callable[[], WrappedDek],
        make: Callable[[bytes, WrappedDek], Opening],
    ) -> Opening:
        """Return what a KEK unwraps, from the cache if it is there."""
        key = _named(provider, header)
        named = (context, wrapped_for, key)
        with self._one_at_a_time(named):
            found = self._cached(kept, provider, context, header)
            if found is not None:
                return found
            wrapped = wrapped_in()
            self._check_pause(named)
            try:
                made = make(provider.unwrap(wrapped, wrapped_for), wrapped)
            except KekUnavailable as error:
                self._note_failure(named, error)
                raise
            except UnknownKek:
                with self._lock:
                    kept.put_unknown(context, key, self._now_ms() + UNKNOWN_MS)
                raise
            with self._lock:
                kept.put(context, key, made, self._now_ms())
            return made

    def _make(self, provider: KekProvider, context: DekContext) -> WritingDek:
        self._check_pause((provider.name, context))
        key = os.urandom(DEK_BYTES)
        try:
            wrapped = provider.wrap(key, context)
        except KekUnavailable as error:
            self._note_failure((provider.name, context), error)
            raise
        now_ms = self._now_ms()
        dek = WritingDek(Dek(key, wrapped), os.urandom(NONCE_PREFIX_BYTES), self._limits, now_ms)
        with self._lock:
            self._writing.put(provider.name, context, dek, now_ms)
            self._reading.put(context, _named(provider, dek.header), dek.dek, now_ms)
        return dek

    def _check_pause(self, key: object) -> None:
        """Fail at once where the last call about a DEK has just failed."""
        with self._lock:
            until_ms, text = self._failed.get(key, (0, ""))
            if text and self._now_ms() < until_ms:
                raise KekUnavailable(text)

    def _note_failure(self, key: object, error: KekUnavailable) -> None:
        with self._lock:
            self._failed.pop(key, None)
            while len(self._failed) >= MAX_FAILURES:
                del self._failed[next(iter(self._failed))]
            self._failed[key] = self._now_ms() + RETRY_MS, str(error)

    @contextmanager
    def _one_at_a_time(self, key: object) -> Iterator[None]:
        """Let one thread at a time ask about a DEK."""
        while True:
            with self._lock:
                turn = self._asked.get(key)
                if turn is None:
                    turn = self._asked[key] = threading.Event()
                    break
            turn.wait()
        try:
            yield
        finally:
            with self._lock:
                del self._asked[key]
            turn.set()


def _header_of(sealing: SealingKey) -> bytes:
    """Return what a sealing key is kept under; a file may say another ID of what the same KEK wraps."""
    return sealing.key_id + sealing.wrapped.as_bytes()


def _dek(provider: KekProvider, key: bytes) -> bytes:
    if len(key) != DEK_BYTES:
        raise UnknownKek(f"{provider.name}: what it unwrapped is no DEK")
    return key


def _named(provider: KekProvider, header: bytes) -> bytes:
    """Return what a DEK is kept under: a rule must not use what only another rule's KEK may unwrap."""
    return provider.name.encode() + b"\0" + header
