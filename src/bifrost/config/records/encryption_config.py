"""What EnvelopeEncryption does: which KEK, how records are sealed, and what happens where one cannot be opened."""

from datetime import UTC, datetime
from enum import StrEnum
from importlib.util import find_spec
from typing import Annotated

from pydantic import AfterValidator, Field, StrictStr

from bifrost.config.records.masking_config import MAX_FIELDS, JsonPath
from bifrost.config.records.registry_config import FormatConfig, SubjectConfig, ValueFormat, check_format
from bifrost.config.section import Section
from bifrost.config.values import Count, HttpUrl, Text

MAX_KEKS = 16
"""Most KEKs that one filter opens with beside its own."""

KeyId = Annotated[StrictStr, Field(min_length=1, max_length=400)]


Tag = Annotated[StrictStr, Field(min_length=1, max_length=256)]
"""What a schema says of a field, in `confluent:tags`."""

SEALING_KEY_FORM = r"v1 [0-9a-f]{16} [A-Za-z0-9+/]+=*"
"""A wrapped sealing key, as its file has it (encryption/sealing_key.py)."""

SealingKeyText = Annotated[StrictStr, Field(pattern=rf"^{SEALING_KEY_FORM}$")]


class KmsProvider(StrEnum):
    """Where a KEK is."""

    VAULT = "Vault"
    AWS_KMS = "AwsKms"
    KEY_FILE = "KeyFile"


class SealMode(StrEnum):
    """What is sealed."""

    BATCHES = "batches"
    VALUES = "values"
    FIELDS = "fields"


class MissingKey(StrEnum):
    """What happens to records whose key is missing."""

    FAIL = "fail"
    SKIP = "skip"


def read_instant(text: str) -> datetime:
    """Return a time; one without a zone is in UTC.

    Raises:
        ValueError: it is none.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("expected a date or a time, such as 2026-11-01 or 2026-11-01T08:00:00Z") from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _check_instant(text: str) -> str:
    read_instant(text)
    return text


Instant = Annotated[StrictStr, Field(min_length=10, max_length=40), AfterValidator(_check_instant)]


class VaultKms(Section):
    """Where Vault is, and how the gateway logs in there."""

    address: HttpUrl | None = Field(default=None, examples=["https://vault.internal:8200"])
    """`https://host:port`, or `http://` within a host. Default: what `VAULT_ADDR` in the gateway's environment says, as
    for Vault's own client, else `https://127.0.0.1:8200`."""

    token_file: Text | None = None
    """File of the token, read for each call, so that an agent may renew it. Default: `.vault-token` in the home of the
    gateway's user, where Vault's own client puts it."""

    mount: KeyId = "transit"
    """Path of the transit engine. Default `transit`."""

    namespace: KeyId | None = None
    """Namespace of Vault Enterprise. Default: the key is absent, and there is none."""

    ca_file: Text | None = None
    """File of certificates (PEM) by which the gateway knows Vault. Default: the key is absent, and the system's
    certificates apply."""


class AwsKms(Section):
    """Where AWS KMS is. Credentials are found as by any program on AWS."""

    region: KeyId | None = Field(default=None, examples=["eu-central-1"])
    """AWS region of the key. Default: the key is absent, and the environment or the ARN in `key_id` says it."""

    endpoint_url: HttpUrl | None = Field(default=None, examples=["http://localhost:4566"])
    """Another endpoint than that of the region. Default: the key is absent."""


class EnvelopeEncryptionConfig(FormatConfig, SubjectConfig):
    """What EnvelopeEncryption does."""

    kms_provider: KmsProvider | None = Field(default=None, examples=["Vault"])
    """Of `EnvelopeEncryption`: where the KEK is: `Vault`, `AwsKms`, or `KeyFile` for trying it out. Required
    there. Default: none."""

    key_id: KeyId | None = Field(default=None, examples=["payments"])
    """Of `EnvelopeEncryption`: the KEK: with Vault the name of a transit key; with AWS KMS an ID, an ARN or an alias;
    with a key file the name in it. Required there. Default: none."""

    also_opens: tuple[KeyId, ...] = Field(default=(), max_length=MAX_KEKS)
    """Of `EnvelopeEncryption`: KEKs of the same provider that were `key_id` before, with AWS KMS their ARNs: what they
    sealed opens. A new version of the same KEK needs none of it. Default: none."""

    cache_expiry_seconds: Count = Field(default=600, ge=10, le=3600)
    """Of `EnvelopeEncryption`: how long a data key is used before the KEK is asked again, in seconds: so long it takes
    until a rotated KEK is in use and a deleted one is not, and so long an outage of the KMS is not noticed. Default
    600."""

    mode: SealMode = SealMode.BATCHES
    """Of `EnvelopeEncryption`: `batches` seals the records of a batch together, with their keys and headers; `values`
    seals each value by itself, for compacted topics; `fields` seals `sealed_fields` and those with `sealed_tags` of
    JSON and Avro values. Default `batches`."""

    sealed_fields: tuple[JsonPath, ...] = Field(
        default=(), max_length=MAX_FIELDS, examples=["[customer.email, 'cards[*].number']"]
    )
    """Of `EnvelopeEncryption` with `mode: fields`: paths of the fields, as with `Masking`: names with dots between; `*`
    stands for any name; `[*]` at the end seals the elements of an array one by one. Required there, unless there are
    `sealed_tags`. Default: none."""

    sealed_tags: tuple[Tag, ...] = Field(default=(), max_length=MAX_FIELDS, examples=["[PII]"])
    """Of `EnvelopeEncryption` with `mode: fields` and `format: schema`: fields are sealed that have one of these tags
    in their schema (`confluent:tags`). Default: none."""

    sealing_key_file: Text | None = Field(default=None, examples=["secrets/payments.sealing"])
    """Of `EnvelopeEncryption` with `mode: values`: file of the wrapped key, made by `bifrost sealing-key create`, by
    which keys of records are sealed too, each always to the same bytes. Default: the key is absent, and keys of records
    stay as they are."""

    sealing_key: SealingKeyText | None = Field(default=None, repr=False)
    """What that file has. Not a key of the file: the loader reads it from `sealing_key_file`."""

    on_missing_key: MissingKey = MissingKey.FAIL
    """Of `EnvelopeEncryption`: what consumers get in place of records whose KEK is unknown or deleted: `fail` is an
    error, `skip` leaves them out and counts them, for those who delete a KEK in order to delete records. Default
    `fail`."""

    accept_plaintext_before: Instant | None = Field(default=None, examples=['"2026-11-01"'])
    """Of `EnvelopeEncryption`: records of before this time that are not encrypted reach consumers, with a header
    `bifrost.plaintext`; a date or a time (RFC 3339), in UTC where it has no zone. Default: the key is absent, and
    records that are not encrypted are an error."""

    cluster: KeyId | None = Field(default=None, examples=["production"])
    """Of `EnvelopeEncryption`: the name of the physical cluster that is bound to what is sealed. Give it one if another
    cluster is to have the same records under the same topics. Default: the cluster's ID."""

    vault: VaultKms | None = Field(default=None, examples=["{ address: 'https://vault.internal:8200' }"])
    """Of `EnvelopeEncryption` with `Vault`: where it is. Default: as Vault's own client finds it."""

    aws_kms: AwsKms | None = Field(default=None, examples=["{ region: eu-central-1 }"])
    """Of `EnvelopeEncryption` with `AwsKms`: where it is. Default: as any program on AWS finds it."""

    key_file: Text | None = Field(default=None, examples=["secrets/keks"])
    """Of `EnvelopeEncryption` with `KeyFile`: the file: lines of a name, a version and 32 bytes in base64, for its
    owner alone to read. Required there. Default: none."""

    @property
    def plaintext_before_ms(self) -> int | None:
        """`accept_plaintext_before`, in milliseconds since 1970."""
        text = self.accept_plaintext_before
        return None if text is None else int(read_instant(text).timestamp() * 1000)


_OF_PROVIDERS = {
    KmsProvider.VAULT: "vault",
    KmsProvider.AWS_KMS: "aws_kms",
    KmsProvider.KEY_FILE: "key_file",
}


def check_encryption(config: EnvelopeEncryptionConfig) -> None:
    """Refuse what EnvelopeEncryption cannot do.

    Raises:
        ValueError: a key is missing, or is another provider's, or a package is.
    """
    provider = config.kms_provider
    if provider is None or config.key_id is None:
        raise ValueError("EnvelopeEncryption needs config.kms_provider and config.key_id")
    for other, key in _OF_PROVIDERS.items():
        if other is not provider and getattr(config, key) is not None:
            raise ValueError(f"config.{key} is not for kms_provider: {provider}")
    if provider is KmsProvider.KEY_FILE and config.key_file is None:
        raise ValueError("kms_provider: KeyFile needs config.key_file")
    if config.sealing_key_file is not None and config.mode is not SealMode.VALUES:
        raise ValueError("sealing_key_file is for mode: values; with mode: batches keys are sealed as well")
    if bool(config.sealed_fields or config.sealed_tags) != (config.mode is SealMode.FIELDS):
        raise ValueError("mode: fields needs sealed_fields or sealed_tags, and no other mode has them")
    if config.sealed_tags and config.format is not ValueFormat.SCHEMA:
        raise ValueError("sealed_tags are those of schemas: they need format: schema")
    if config.format is ValueFormat.SCHEMA and config.mode is not SealMode.FIELDS:
        raise ValueError("format: schema is for mode: fields")
    check_format(config)
    package = "boto3" if provider is KmsProvider.AWS_KMS else "cryptography"
    for one in {"cryptography", package}:
        if find_spec(one) is None:
            how = "pip install '.[encryption]' in a clone of Bifrost"
            raise ValueError(f"EnvelopeEncryption needs the package {one}: {how}")
