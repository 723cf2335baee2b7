"""Finds the SASL mechanisms of a listener set that no client can use: it must not offer them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bifrost.config.fields.verifiers import Mechanism
from bifrost.config.loc import Loc

if TYPE_CHECKING:
    from bifrost.config.model import Config


def unusable_mechanisms(config: "Config") -> Iterator[tuple[Loc, str]]:
    """Yield every mechanism that a listener set names and no client can use, and how to correct that."""
    for index, listener_set in enumerate(config.proxy.listener_sets):
        for number, mechanism in enumerate(listener_set.sasl_mechanisms or ()):
            reason = _reason(config, mechanism)
            if reason is not None:
                yield ("proxy", "listener_sets", index, "sasl_mechanisms", number), reason


def _reason(config: "Config", mechanism: Mechanism) -> str | None:
    """Return why no client can use a mechanism; None when some client can."""
    users = [user for _, user in config.credentials()]
    has_principals = any(tenant.auth.principals for tenant in config.tenants)
    match mechanism:
        case Mechanism.PLAIN:
            if not users:
                return "no tenant has credentials, which PLAIN is for: add some, or remove it here"
        case Mechanism.OAUTHBEARER:
            oauth = config.proxy.oauth
            if oauth is None:
                return "OAUTHBEARER needs the section proxy.oauth: add it, or remove the mechanism here"
            if oauth.namespace_claim is None and not has_principals:
                return (
                    "no client can use OAUTHBEARER: add principals to a tenant, or proxy.oauth.namespace_claim, "
                    "or remove it here"
                )
        case Mechanism.GSSAPI:
            if config.proxy.kerberos is None:
                return "GSSAPI needs the section proxy.kerberos: add it, or remove the mechanism here"
            if not has_principals:
                return "no client can use GSSAPI: add principals to a tenant, or remove it here"
        case _:
            if any(tenant.auth.stored_users is not None for tenant in config.tenants):
                return None
            if not any(verifier.mechanism is mechanism for user in users for verifier in user.verifiers):
                return f"no credential can use {mechanism}: add its line to a scram_file, or remove it here"
    return None
