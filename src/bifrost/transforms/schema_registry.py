"""The registry that a filter asks, as the source of schemas knows it."""

from pathlib import Path

from bifrost.config.records.filter_configs import FilterConfig
from bifrost.schemas.schema_key import RegistrySettings, SchemaKey

SOURCE = SchemaKey.source

MAX_IDS = 100
"""Most schemas that one batch may name: a producer uses a few, and each unknown one is asked for."""


def registry_of(config: FilterConfig) -> RegistrySettings:
    """Return the registry that a filter asks."""
    assert config.registry_url is not None, "a filter that reads schemas has one"
    return RegistrySettings(
        config.registry_url,
        config.registry_username,
        _path(config.registry_password_file),
        _path(config.registry_token_file),
        _path(config.registry_ca_file),
        config.registry_timeout_ms,
        config.max_schemas,
        config.schema_cache_ms,
        config.unknown_schema_cache_ms,
    )


def names_of(topic: str) -> tuple[str, ...]:
    """Return what clients call a topic: those of a namespace, by what is behind their own path."""
    tiers = topic.split(":")
    return tuple(":".join(tiers[at:]) for at in range(len(tiers)))


def _path(name: str | None) -> Path | None:
    return None if name is None else Path(name)
