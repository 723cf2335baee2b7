"""Tenants of a configuration, with filters of records."""

from collections.abc import Mapping, Sequence
from typing import Any

from bifrost.config.fields.tenants import Tenant


def tenant_of(
    filters: Sequence[Mapping[str, Any]], *, name: str = "acme", prefix: str | None = None, **more: Any
) -> Tenant:
    """Return a tenant with these filters; its topics begin with `prefix`, or as they do by default."""
    prefixes = {} if prefix is None else {"prefixes": {"topic": prefix}}
    return Tenant.model_validate({"name": name, "filters": [*filters]} | prefixes | more)
