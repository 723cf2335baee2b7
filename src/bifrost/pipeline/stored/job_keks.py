"""KEKs of a job, by one text each, and the DEKs that its tasks get from them, with the job's own credentials.

    file:/path/of/keks#payments                  a key of a key file
    vault:https://vault:8200#transit/payments    a key of a transit engine; the token is in a file
    aws-kms:eu-central-1#alias/payments          a key of AWS KMS; credentials as any program on AWS finds them

Executors read files and ask services by themselves; no key and no token goes to them with a task.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bifrost.encryption.dek import Dek, WritingDek
from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.errors import KekUnavailable, UnknownKek
from bifrost.encryption.wrapped_dek import read_wrapped_dek
from bifrost.keys.aws_kms import AwsKms, AwsKmsSettings
from bifrost.keys.dek_keeper import RETRY_MS, DekKeeper
from bifrost.keys.kek_provider import KekProvider
from bifrost.keys.key_file import KeyFile
from bifrost.keys.vault import Vault, VaultSettings
from bifrost.pipeline.errors import PipelineError

ATTEMPTS = 10
"""How often a KEK is asked that cannot answer now, with a pause between: ten seconds and more, then the task fails."""
_FORMS = "file:PATH#NAME, vault:URL#MOUNT/NAME or aws-kms:REGION#KEY"


@dataclass(frozen=True, slots=True)
class KekSource:
    """One KEK and where it is asked."""

    kind: str
    """`file`, `vault` or `aws-kms`."""
    where: str
    """The path, the address or the region."""
    key: str
    token_file: str = ""
    ca_file: str = ""
    namespace: str = ""
    endpoint_url: str = ""


def read_kek(
    text: str, token_file: str = "", ca_file: str = "", namespace: str = "", endpoint_url: str = ""
) -> KekSource:
    """Return the KEK that a text names.

    Args:
        text: as above.
        token_file: of Vault, a path on every executor.
        ca_file: of Vault, a path on every executor; empty: the certificates that the system trusts.
        namespace: of Vault Enterprise.
        endpoint_url: of AWS KMS; empty: that of the region.
    Raises:
        PipelineError: the text has another form, or Vault's token file is missing.
    """
    kind, _, rest = text.partition(":")
    where, _, key = rest.rpartition("#")
    if kind not in ("file", "vault", "aws-kms") or not where or not key:
        raise PipelineError(f"{text!r} names no KEK: write {_FORMS}")
    if kind == "vault":
        if not token_file:
            raise PipelineError("a KEK of Vault needs --vault-token-file")
        if "/" not in key or not where.startswith(("http://", "https://")):
            raise PipelineError(f"{text!r} names no KEK of Vault: write vault:URL#MOUNT/NAME")
    return KekSource(kind, where, key, token_file, ca_file, namespace, endpoint_url)


def open_kek(source: KekSource) -> KekProvider:
    """Return the KEK itself.

    Raises:
        PipelineError: its files or the package that it needs are missing.
        KekUnavailable, UnknownKek: it is in no key file.
    """
    try:
        if source.kind == "file":
            return KeyFile(Path(source.where), source.key)
        if source.kind == "aws-kms":
            return AwsKms(AwsKmsSettings(source.key, source.where, endpoint_url=source.endpoint_url or None))
        mount, _, key = source.key.rpartition("/")
        return Vault(
            VaultSettings(
                source.where,
                key,
                Path(source.token_file),
                mount=mount,
                namespace=source.namespace or None,
                ca_file=Path(source.ca_file) if source.ca_file else None,
            )
        )
    except (ImportError, OSError, ValueError) as error:
        if isinstance(error, KekUnavailable | UnknownKek):
            raise
        raise PipelineError(f"the KEK {source.key} cannot be used: {error}") from None


class JobKeys:
    """The DEKs of one task."""

    def __init__(self, opens: Sequence[KekSource], seals: KekSource) -> None:
        """Prepare; services are not asked yet.

        Args:
            opens: KEKs that unwrap, beside the one that seals.
            seals: the KEK that wraps.
        """
        self._keeper = DekKeeper(_now_ms)
        self._seals = open_kek(seals)
        self._opens = [self._seals, *map(open_kek, opens)]

    def reading(self, context: DekContext, header: bytes) -> Dek:
        """Return the DEK of an envelope.

        Raises:
            UnknownKek: no KEK of the job unwraps it.
            KekUnavailable: the one that may cannot be asked.
        """
        wrapped = read_wrapped_dek(header)
        kind = wrapped.kek.partition(":")[0]
        refusal = UnknownKek(f"the job was given no KEK of {wrapped.kek[:80]!r}")
        for provider in self._opens:
            if provider.name.partition(":")[0] != kind or (
                kind != "aws-kms" and provider.name != wrapped.kek
            ):
                continue
            for attempt in range(ATTEMPTS):
                try:
                    return self._keeper.reading(provider, context, header)
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
        for attempt in range(ATTEMPTS):
            try:
                return self._keeper.writing(self._seals, context)
            except KekUnavailable:
                if attempt == ATTEMPTS - 1:
                    raise
                time.sleep(RETRY_MS / 1000)
        raise AssertionError

    def is_of_seals(self, header: bytes) -> bool:
        """Whether an envelope's DEK is wrapped by the KEK that seals, as far as its name says."""
        kek, name = read_wrapped_dek(header).kek, self._seals.name
        # The envelope names the ARN of a key of AWS; the job may know it by an alias.
        return kek == name or (name.startswith("aws-kms:") and kek.startswith("aws-kms:"))

    def close(self) -> None:
        """Close the connections to the services."""
        for provider in self._opens:
            provider.close()


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000
