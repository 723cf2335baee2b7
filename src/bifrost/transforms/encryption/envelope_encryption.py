"""EnvelopeEncryption: how the filter of the configuration becomes the sealing of a topic."""

from typing import TYPE_CHECKING

from bifrost.config.records.encryption_config import (
    EnvelopeEncryptionConfig,
    KmsProvider,
    MissingKey,
    SealMode,
)
from bifrost.config.records.filter_configs import FilterConfig
from bifrost.config.records.registry_config import ValueFormat
from bifrost.encryption.kek import Kek
from bifrost.encryption.sealing_key import read_sealing_key
from bifrost.schemas.schema_key import SubjectStrategy
from bifrost.transforms.encryption.batch_sealing import BatchSealing
from bifrost.transforms.encryption.dek_needs import SOURCE
from bifrost.transforms.encryption.field_sealing import FieldSealing, fields_of_json, no_mask
from bifrost.transforms.encryption.seal_rules import SealRules
from bifrost.transforms.encryption.value_sealing import ValueSealing
from bifrost.transforms.masking.field_path import path_of
from bifrost.transforms.record_transform import Direction
from bifrost.transforms.schema_registry import SOURCE as SCHEMAS
from bifrost.transforms.schema_registry import names_of, registry_of
from bifrost.transforms.transform_kind import Topic, TransformKind

if TYPE_CHECKING:
    from bifrost.transforms.masking.fields_by_schema import FieldsBySchema
    from bifrost.transforms.masking.json_masker import JsonMasker

_PROVIDERS = {KmsProvider.VAULT: "vault", KmsProvider.AWS_KMS: "aws-kms", KmsProvider.KEY_FILE: "file"}


def kek_of(config: EnvelopeEncryptionConfig) -> Kek:
    """Return the KEK that a filter names."""
    assert config.kms_provider is not None
    assert config.key_id is not None
    kek = Kek(
        _PROVIDERS[config.kms_provider],
        config.key_id,
        tuple(config.also_opens),
        max_age_ms=config.cache_expiry_seconds * 1000,
        key_file=config.key_file,
    )
    vault, aws = config.vault, config.aws_kms
    if vault is not None:
        kek = kek._replace(
            address=vault.address,
            token_file=vault.token_file,
            mount=vault.mount,
            namespace=vault.namespace,
            ca_file=vault.ca_file,
        )
    if aws is not None:
        kek = kek._replace(region=aws.region, address=aws.endpoint_url)
    return kek


def sealing_of(
    rules: SealRules, config: FilterConfig, topics: tuple[str, ...]
) -> BatchSealing | ValueSealing | FieldSealing:
    """Return what seals and opens the records of a topic.

    Args:
        rules: what is said about the topic.
        config: of the filter, which says what of a record is sealed.
        topics: what clients call the topic, whose subjects have the schemas of what is sealed; without: any schema is
            good.
    """
    if config.mode is SealMode.FIELDS:
        return FieldSealing(rules, _fields(config, topics))
    return ValueSealing(rules) if config.mode is SealMode.VALUES else BatchSealing(rules)


def _make(name: str, config: FilterConfig, topic: Topic) -> BatchSealing | ValueSealing | FieldSealing:
    cluster = config.cluster or topic.cluster
    assert cluster, "a broker has answered, so the cluster's ID is known"
    rules = SealRules(
        name,
        kek_of(config),
        cluster,
        topic.physical.decode(),
        skips_missing_keys=config.on_missing_key is MissingKey.SKIP,
        plaintext_before_ms=config.plaintext_before_ms,
        sealing_key=None if config.sealing_key is None else read_sealing_key(config.sealing_key),
        is_virtual=topic.is_virtual,
    )
    return sealing_of(rules, config, names_of(topic.name))


def _fields(config: FilterConfig, topics: tuple[str, ...]) -> "JsonMasker | FieldsBySchema":
    """Return what finds the fields that are sealed."""
    if config.format is ValueFormat.JSON:
        return fields_of_json(config.sealed_fields)
    # What finds fields by schemas takes memory.
    from bifrost.transforms.encryption.avro_sealing import SealTargets
    from bifrost.transforms.masking.fields_by_schema import FieldRules, FieldsBySchema

    paths = tuple(path_of(one) for one in config.sealed_fields)
    rules = FieldRules(paths, frozenset(config.sealed_tags), SealTargets, no_mask, no_mask)
    subjects = (topics, SubjectStrategy(config.subject.value))
    return FieldsBySchema(rules, registry_of(config), subjects)


KIND = TransformKind(
    frozenset(Direction),
    _make,
    sources=frozenset({SOURCE}),
    sources_of=lambda config: frozenset({SCHEMAS}) if config.format is ValueFormat.SCHEMA else frozenset(),
    seals=True,
)
