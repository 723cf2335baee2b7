"""The DEKs that the tasks of a job get from its KEKs, with the job's own credentials."""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from bifrost.encryption.dek import Dek, WritingDek
from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.errors import KekUnavailable, UnknownKek
from bifrost.encryption.kek import Kek
from bifrost.encryption.sealing_key import SealingKey
from bifrost.encryption.topic_key import TopicKey
from bifrost.encryption.wrapped_dek import read_wrapped_dek
from bifrost.keys.dek_keeper import RETRY_MS, DekKeeper
from bifrost.keys.kek_provider import KekProvider
from bifrost.keys.kek_providers import KekProviders
from bifrost.pipeline.errors import PipelineError

ATTEMPTS = 10
"""How often a KEK is asked that cannot answer now, with a pause between: ten seconds and more, then the task fails."""


Opening = TypeVar("Opening", Dek, TopicKey)


def open_kek(kek: Kek) -> KekProviders:
    """Return the KEK itself.

    Raises:
        PipelineError: the package that it needs is missing.
        KekUnavailable, UnknownKek: it is in no key file, or cannot be used.
    """
    try:
        return KekProviders(kek)
    except ImportError as error:
        raise PipelineError(f"the KEK {kek.key_id} cannot be used: {error}") from None


class JobKeys:
    """The DEKs of one task."""

    def __init__(self, opens: Sequence[Kek], seals: Kek | None = None) -> None:
        """Prepare; services are not asked yet.

        Args:
            opens: KEKs that unwrap, beside the one that seals.
            seals: the KEK that wraps; None: the task seals nothing.
        """
        self._keeper = DekKeeper(_now_ms)
        self._opens = [open_kek(one) for one in (*(() if seals is None else (seals,)), *opens)]
        self._seals = None if seals is None else self._opens[0].writing

    def reading(self, context: DekContext, header: bytes) -> Dek:
        """Return the DEK of an envelope.

        Raises:
            UnknownKek: no KEK of the job unwraps it.
            KekUnavailable: the one that may cannot be asked.
        """
        return self._opened(header, lambda provider: self._keeper.reading(provider, context, header))

    def topic_key(self, context: DekContext, sealing: SealingKey) -> TopicKey:
        """Return the key of a topic.

        Raises:
            UnknownKek: no KEK of the job unwraps the sealing key that it comes from.
            KekUnavailable: the one that may cannot be asked.
        """
        header = sealing.wrapped.as_bytes()
        return self._opened(header, lambda provider: self._keeper.topic_key(provider, context, sealing))

    def _opened(self, header: bytes, ask: Callable[[KekProvider], Opening]) -> Opening:
        wrapped = read_wrapped_dek(header)
        kind = wrapped.kek.partition(":")[0]
        refusal = UnknownKek(f"the job was given no KEK of {wrapped.kek[:80]!r}")
        for one in self._opens:
            provider = one.opening(header)
            if provider.name.partition(":")[0] != kind or (
                kind != "aws-kms" and provider.name != wrapped.kek
            ):
                continue
            for attempt in range(ATTEMPTS):
                try:
                    return ask(provider)
                except UnknownKek as error:
                    refusal = error
                    break
                except KekUnavailable:
                    if attempt == ATTEMPTS - 1:
                        raise
                    time.sleep(RETRY_MS / 1000)
        raise refusal

    def writing(self, context: DekContext) -> WritingDek:
        """Return the DEK that seals for a topic.

        Raises:
            KekUnavailable, UnknownKek: the KEK does not wrap one.
        """
        assert self._seals is not None
        for attempt in range(ATTEMPTS):
            try:
                return self._keeper.writing(self._seals, context)
            except KekUnavailable:
                if attempt == ATTEMPTS - 1:
                    raise
                time.sleep(RETRY_MS / 1000)
        raise AssertionError

    def is_of_seals(self, header: bytes) -> bool:
        """Whether a DEK or a sealing key is wrapped by the KEK that seals, as far as its name says."""
        assert self._seals is not None
        kek, name = read_wrapped_dek(header).kek, self._seals.name
        # The envelope names the ARN of a key of AWS; the job may know it by an alias.
        return kek == name or (name.startswith("aws-kms:") and kek.startswith("aws-kms:"))

    def close(self) -> None:
        """Close the connections to the services."""
        for one in self._opens:
            one.close()


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000
