"""A KEK in AWS KMS, over boto3, which finds the credentials as any program on AWS does.

A DEK is made here and encrypted there, with cluster and topic as encryption context: KMS decrypts it for that topic
alone, and CloudTrail shows for which topic a DEK was asked for. The envelope names the ARN of the key that wrapped; KMS
decrypts with the configured key, or with one that is named beside it, and with no other.

A credential needs kms:Encrypt to seal and kms:Decrypt to open. KMS shows no version of a key: rotated material is
found by KMS itself.

Source: AWS KMS API, Encrypt and Decrypt.
"""

import logging
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.errors import EncryptionError, KekUnavailable, UnknownKek
from bifrost.encryption.wrapped_dek import WrappedDek
from bifrost.keys.kek_provider import CALL_TIMEOUT_S

_UNKNOWN = frozenset(
    {
        "DisabledException",
        "IncorrectKeyException",
        "InvalidCiphertextException",
        "InvalidKeyUsageException",
        "KMSInvalidStateException",
        "NotFoundException",
    }
)
_PREFIX = "aws-kms:"


@dataclass(frozen=True, slots=True)
class AwsKmsSettings:
    """Which key, and where."""

    key_id: str
    """ID, ARN or alias (`alias/payments`) of the key that wraps."""
    region: str | None
    also_opens: Collection[str] = ()
    """ARNs of keys that wrapped before: an alias that was moved, a key of another account."""
    endpoint_url: str | None = None
    """None: that of the region."""
    timeout_s: float = CALL_TIMEOUT_S


class AwsKms:
    """One KEK of AWS KMS."""

    def __init__(self, settings: AwsKmsSettings) -> None:
        """Prepare; nothing is asked yet.

        Raises:
            ImportError: boto3 is not installed.
        """
        import boto3
        import botocore.config

        # At DEBUG it would write requests and answers, keys among them, into the log.
        for name in ("boto3", "botocore", "urllib3"):
            logger = logging.getLogger(name)
            logger.setLevel(max(logger.getEffectiveLevel(), logging.INFO))
        self._settings = settings
        self.name = f"{_PREFIX}{settings.key_id}"
        self._also_opens = frozenset(settings.also_opens)
        self._client: Any = boto3.client(
            "kms",
            region_name=settings.region,
            endpoint_url=settings.endpoint_url,
            config=botocore.config.Config(
                connect_timeout=settings.timeout_s / 2,
                read_timeout=settings.timeout_s / 2,
                retries={"total_max_attempts": 1},  # who asks tries again, with a pause that it knows
            ),
        )

    def __repr__(self) -> str:
        return f"AwsKms({self.name!r})"

    def wrap(self, key: bytes, context: DekContext) -> WrappedDek:
        """See `KekProvider`."""
        answer = self._call(
            "encrypt", KeyId=self._settings.key_id, Plaintext=key, EncryptionContext=_of(context)
        )
        return WrappedDek(_PREFIX + str(answer["KeyId"]), 0, bytes(answer["CiphertextBlob"]))

    def unwrap(self, wrapped: WrappedDek, context: DekContext) -> bytes:
        """See `KekProvider`."""
        if not wrapped.kek.startswith(_PREFIX):
            raise UnknownKek(f"the envelope names the KEK {wrapped.kek[:80]!r}, not {self.name!r}")
        arn = wrapped.kek.removeprefix(_PREFIX)
        key_id = arn if arn in self._also_opens else self._settings.key_id
        if key_id.startswith("arn:") and ":key/" in key_id and key_id != arn:
            raise UnknownKek(f"the envelope names the KEK {wrapped.kek[:80]!r}, not {self.name!r}")
        # An ID or an alias KMS compares: a key that is not configured here unwraps nothing, whatever the envelope says.
        answer = self._call(
            "decrypt", KeyId=key_id, CiphertextBlob=wrapped.wrapped, EncryptionContext=_of(context)
        )
        if answer["KeyId"] != arn:
            raise UnknownKek(f"{self.name}: another key unwrapped the DEK than the envelope names")
        return bytes(answer["Plaintext"])

    def close(self) -> None:
        """See `KekProvider`."""
        self._client.close()

    def _call(self, operation: str, **fields: object) -> Any:
        import botocore.exceptions as errors

        try:
            return getattr(self._client, operation)(**fields)
        except errors.ClientError as error:
            raise self._refusal(str(error.response.get("Error", {}).get("Code", ""))) from None
        except errors.BotoCoreError as error:
            # Its text may have what was sent; its kind says enough.
            raise KekUnavailable(f"{self.name}: no answer ({type(error).__name__})") from None

    def _refusal(self, code: str) -> EncryptionError:
        if code in _UNKNOWN:
            return UnknownKek(f"{self.name}: KMS refuses the key ({code})")
        return KekUnavailable(f"{self.name}: KMS refuses ({code})")


def _of(context: DekContext) -> dict[str, str]:
    return {"cluster": context.cluster, "topic": context.topic}
