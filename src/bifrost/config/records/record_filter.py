"""One filter of records: an element of the section `filters` of a tenant.

The form is that of the documents of the second dialect: a name, which says what the filter does, and its config.
"""

from collections.abc import Mapping
from enum import StrEnum

from pydantic import Field, model_validator

from bifrost.config.records.encryption_config import EnvelopeEncryptionConfig, check_encryption
from bifrost.config.records.filter_configs import FilterConfig, ProducePolicyConfig, RecordHeadersConfig
from bifrost.config.records.filter_rule import FilterDirection, FilterRule
from bifrost.config.records.masking_config import MaskAction, MaskingConfig
from bifrost.config.records.python_transform_config import PythonTransformConfig, check_python_transform
from bifrost.config.records.registry_config import check_format
from bifrost.config.records.schema_config import SchemaValidatorConfig, check_schemas
from bifrost.config.secrets import READ_FROM_FILES
from bifrost.config.section import Section
from bifrost.config.values import Name

MAX_FILTERS = 32
"""Most filters of one tenant: a batch may pass all of them."""

MAX_RULES = 100
"""Most rules of one filter: each new topic of a client is compared with all."""


class FilterName(StrEnum):
    """The filters that there are."""

    RECORD_HEADERS = "RecordHeaders"
    PRODUCE_POLICY = "ProducePolicy"
    MASKING = "Masking"
    PYTHON_TRANSFORM = "PythonTransform"
    ENVELOPE_ENCRYPTION = "EnvelopeEncryption"
    SCHEMA_VALIDATOR = "SchemaValidator"


_CONFIGS: Mapping[FilterName, type[Section]] = {
    FilterName.RECORD_HEADERS: RecordHeadersConfig,
    FilterName.PRODUCE_POLICY: ProducePolicyConfig,
    FilterName.MASKING: MaskingConfig,
    FilterName.PYTHON_TRANSFORM: PythonTransformConfig,
    FilterName.ENVELOPE_ENCRYPTION: EnvelopeEncryptionConfig,
    FilterName.SCHEMA_VALIDATOR: SchemaValidatorConfig,
}
EVERYONE = ("User:*",)
"""The principals of a rule that is for all."""
SEALING = frozenset({FilterName.ENVELOPE_ENCRYPTION})
"""Filters behind which no other can read the records."""

_ONLY: Mapping[FilterName, FilterDirection] = {
    FilterName.PRODUCE_POLICY: FilterDirection.PRODUCE,
    FilterName.MASKING: FilterDirection.FETCH,
    FilterName.SCHEMA_VALIDATOR: FilterDirection.PRODUCE,
}
"""The one way on which a filter does something."""


class RecordFilter(Section):
    """A filter of records. See [filters.md](filters.md)."""

    name: FilterName = Field(examples=["RecordHeaders"])
    """What it does: `RecordHeaders` adds, removes and renames headers; `ProducePolicy` refuses records that lack
    something or are too large; `Masking` hides fields of values from consumers; `PythonTransform` runs a
    function of the operator's own; `SchemaValidator` refuses records that break the schema of their topic;
    `EnvelopeEncryption` encrypts records before they reach the broker. Required."""

    label: Name | None = None
    """What metrics and `bifrost explain` call it. Default: its name. Two filters of a tenant must not have the same."""

    config: FilterConfig = Field(examples=["{ add: [{ key: region, value: eu }] }"])
    """What it does in detail. Required."""

    rules: tuple[FilterRule, ...] = Field(
        default=(), max_length=MAX_RULES, examples=["[{ topics: [orders], direction: produce }]"]
    )
    """Which records it is for: those that one of these rules matches. Default: all records of the tenant."""

    @model_validator(mode="after")
    def _check_config(self) -> "RecordFilter":
        own = _CONFIGS[self.name].model_fields
        shown = ", ".join(key for key in own if key not in READ_FROM_FILES)
        foreign = sorted(self.config.model_fields_set - own.keys())
        if foreign:
            raise ValueError(f"config.{foreign[0]} is no key of {self.name}: it has {shown}")
        if self.name is FilterName.ENVELOPE_ENCRYPTION:
            check_encryption(self.config)
            if any(rule.principals != EVERYONE for rule in self.rules):
                # The broker would have records of both kinds, and some consumers what they cannot read.
                raise ValueError(f"rules of {self.name} have no principals: it is for all clients of a topic")
            return self
        # A flag that is off asks for nothing.
        if not any(getattr(self.config, key) for key in own):
            raise ValueError(f"config asks for nothing: add one of {shown}")
        if self.name is FilterName.MASKING:
            self._check_masking()
        if self.name is FilterName.SCHEMA_VALIDATOR:
            check_schemas(self.config)
        if self.name is FilterName.PYTHON_TRANSFORM:
            check_python_transform(self.config)
        only = _ONLY.get(self.name)
        if only is None:
            if not self.rules or any(rule.direction is None for rule in self.rules):
                # On both ways records would be changed twice: a header that is added would be there twice.
                raise ValueError(f"every rule of {self.name} needs a direction: produce or fetch")
            if self.config.quarantine_topic is not None and any(
                rule.direction is FilterDirection.FETCH for rule in self.rules
            ):
                # Each consumer would write the same records there, each time that it reads them.
                raise ValueError(
                    "quarantine_topic is for direction: produce only: make another filter for fetch"
                )
            return self
        if any(rule.direction not in (None, only) for rule in self.rules):
            raise ValueError(f"{self.name} is for direction: {only} only")
        return self

    def _check_masking(self) -> None:
        if not self.config.fields:
            raise ValueError("config asks for nothing: Masking needs fields")
        check_format(self.config)
        is_hashed = any(one.action is MaskAction.HASH for one in self.config.fields)
        if is_hashed != (self.config.hash_key_file is not None):
            raise ValueError("action hash needs hash_key_file, and no other action does")

    @property
    def shown_name(self) -> str:
        """What the operator knows it by."""
        return self.label or self.name.value


def same_label(filters: tuple[RecordFilter, ...]) -> str | None:
    """Return what two filters are called; None: each has a name of its own."""
    names = [one.shown_name for one in filters]
    return next((name for name in names if names.count(name) > 1), None)
