"""Check which security keys of `upstream` may be combined; `clashes.py` reports the places.

It reads the file as plain values, as `clashes.py` does, and ignores values that are absent or malformed.

Source: Kafka's SaslConfigs, SslConfigs; PlainLoginModule, ScramLoginModule, OAuthBearerLoginCallbackHandler (KIP-768),
Krb5LoginModule.
"""

from collections.abc import Iterator, Mapping
from typing import Protocol

from bifrost.config.fields.upstream_sasl import KEYS_OF_ONE, PASSWORD_MECHANISMS, UpstreamMechanism
from bifrost.config.kept_secret import KeptSecret
from bifrost.config.security_protocol import SecurityProtocol

Loc = tuple[str | int, ...]

_PASSWORD = frozenset({"username", "password_file"})
_ENDPOINT = frozenset({"token_endpoint_url", "client_id", "client_secret_file"})
_KEYS = {
    UpstreamMechanism.PLAIN: _PASSWORD,
    UpstreamMechanism.SCRAM_SHA_256: _PASSWORD,
    UpstreamMechanism.SCRAM_SHA_512: _PASSWORD,
    **KEYS_OF_ONE,
}
"""The keys of each mechanism beside `mechanism` itself."""


class Tree(Protocol):
    """Reads values of the file, and None for what is absent or malformed."""

    def get(self, *loc: str | int) -> object:
        """Return the value at `loc`."""

    def indexes(self, *loc: str | int) -> range:
        """Return the indexes of the list at `loc`."""


def security_misfits(tree: Tree) -> Iterator[tuple[Loc, str]]:
    """Yield the place and a text for each combination that is not allowed."""
    several: list[Loc] = [("upstreams", index) for index in tree.indexes("upstreams")]
    protocols = {}
    for at in several or [("upstream",)]:
        yield from upstream_misfits(tree, at)
        protocols[str(tree.get(*at, "name"))] = _protocol(tree, at)
    only = next(iter(protocols.values())) if len(protocols) == 1 else None
    for tenant in tree.indexes("tenants"):
        name = str(tree.get("tenants", tenant, "upstream"))
        yield from tenant_misfits(tree, tenant, protocols.get(name, only))


def upstream_misfits(tree: Tree, at: Loc) -> Iterator[tuple[Loc, str]]:
    """Yield what is wrong with the upstream section at `at`."""
    protocol = _protocol(tree, at)
    if protocol is None:
        return
    if tree.get(*at, "tls") is not None:
        if not protocol.has_tls:
            encrypted = "SASL_SSL" if protocol.has_sasl else "SSL or SASL_SSL"
            text = f"nothing is encrypted with security_protocol {protocol}: write {encrypted} there, or remove it"
            yield (*at, "tls"), text
        else:
            yield from _tls_misfits(tree, (*at, "tls"))
    if tree.get(*at, "sasl") is not None:
        if not protocol.has_sasl:
            yield (*at, "sasl"), _no_sasl(protocol)
        else:
            yield from sasl_misfits(tree, (*at, "sasl"))
    elif protocol.has_sasl:
        without = "SSL" if protocol.has_tls else "PLAINTEXT"
        text = f"{protocol} needs an account at the brokers: add sasl, or write {without}"
        yield (*at, "security_protocol"), text


def tenant_misfits(tree: Tree, tenant: int, protocol: SecurityProtocol | None) -> Iterator[tuple[Loc, str]]:
    """Yield what is wrong with the accounts of one tenant and its users; `protocol` is that of its upstream."""
    at: Loc = ("tenants", tenant)
    credentials: Loc = (*at, "auth", "credentials")
    for owner in (at, *((*credentials, index) for index in tree.indexes(*credentials))):
        loc = (*owner, "upstream_sasl")
        if tree.get(*loc) is None or protocol is None:
            continue
        if protocol.has_sasl:
            yield from sasl_misfits(tree, loc)
        else:
            yield loc, _no_sasl(protocol)


def sasl_misfits(tree: Tree, at: Loc) -> Iterator[tuple[Loc, str]]:
    """Yield what is wrong with one account."""
    given = _given(tree, at) & {key for keys in _KEYS.values() for key in keys}
    named = tree.get(*at, "mechanism")
    if named is None and "mechanism" in _given(tree, at):
        return  # It is wrong, and reported already.
    try:
        mechanism = _implied(given) if named is None else UpstreamMechanism(str(named))
    except ValueError:
        return
    place = at if named is None else (*at, "mechanism")
    if named is None and not given:
        yield at, "no account: add username and password_file, or mechanism with its keys"
        return
    for key in sorted(given - _KEYS[mechanism]):
        others = ", ".join(one for one, keys in _KEYS.items() if key in keys)
        yield (*at, key), f"{key} is for {others}, not for {mechanism}: remove it"
    needed: frozenset[str] = frozenset()
    if _KEYS[mechanism] is _PASSWORD:
        needed = _PASSWORD
    elif mechanism is UpstreamMechanism.OAUTHBEARER:
        beside = sorted((given & _KEYS[mechanism]) - {"token_file"})
        if "token_file" not in given:
            needed = _ENDPOINT
        elif beside:
            yield (
                (*at, "token_file"),
                f"the token is read from the file, and {beside[0]} is given: remove one",
            )
    elif "keytab_file" in given:
        needed = frozenset({"principal"})
    missing = sorted(needed - given)
    if missing:
        hint = ", or token_file" if needed is _ENDPOINT and not needed & given else ""
        what = "a login by password" if named is None and _KEYS[mechanism] is _PASSWORD else mechanism
        reason = "keytab_file" if mechanism is UpstreamMechanism.GSSAPI else what
        yield place, f"{reason} needs {' and '.join(missing)}: add {_it(missing)}{hint}"


def _implied(given: set[str]) -> UpstreamMechanism:
    """Return the mechanism that the keys of an account name; one of those of a password stands for all of them."""
    found = (mechanism for mechanism, keys in KEYS_OF_ONE.items() if keys & given)
    return next(found, PASSWORD_MECHANISMS[0])


def _tls_misfits(tree: Tree, at: Loc) -> Iterator[tuple[Loc, str]]:
    given = _given(tree, at)
    for key, other in (
        ("certificate_file", "key_file"),
        ("key_file", "certificate_file"),
        ("key_password_file", "key_file"),
    ):
        if key in given and other not in given:
            yield (*at, key), f"{key} goes with {other}: add that, or remove this"


def _given(tree: Tree, at: Loc) -> set[str]:
    """Return the keys of a section that have a value, valid or not; a password that is read counts as its file."""
    section = tree.get(*at)
    if not isinstance(section, Mapping):
        return set()
    if isinstance(section.get("password"), KeptSecret):
        section = {**section, "password_file": True}
    return {key for key, value in section.items() if value is not None and value is not False}


def _protocol(tree: Tree, at: Loc) -> SecurityProtocol | None:
    """Return the upstream's protocol; None when the value is not a protocol, which is reported already."""
    value = tree.get(*at, "security_protocol")
    if value is None:
        return SecurityProtocol.PLAINTEXT
    try:
        return SecurityProtocol(str(value))
    except ValueError:
        return None


def _no_sasl(protocol: SecurityProtocol) -> str:
    with_sasl = "SASL_SSL" if protocol.has_tls else "SASL_PLAINTEXT or SASL_SSL"
    return (
        f"the gateway does not authenticate at the brokers with security_protocol {protocol}: "
        f"write {with_sasl} there, or remove it"
    )


def _it(keys: list[str]) -> str:
    return "it" if len(keys) == 1 else "them"
