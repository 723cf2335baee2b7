"""The files that secure the connections to the brokers: the keys that name them, and what each must contain.

`load.py` reads them. It puts a secret beside its key; of a file that the gateway reads again while it runs
(certificates, tokens, keytabs), it keeps only the path, made absolute from the folder of the configuration.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec

from bifrost.config.fields.upstream_sasl import KEYS_OF_ONE, UpstreamMechanism
from bifrost.config.kept_secret import KeptSecret

Loc = tuple[str | int, ...]

MAX_PEM_BYTES = 4 << 20
"""Largest file of certificates: the bundles of whole systems have some 250 KB, those of companies a few more."""

MAX_TOKEN_BYTES = 64 << 10
"""Largest file of a token; what a broker reads of one is `sasl.server.max.receive.size`, 512 KiB."""

MAX_SECRET_BYTES = 4096

_ENCRYPTED = re.compile(rb"-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED", re.MULTILINE)
_TOKEN = re.compile(rb"[A-Za-z0-9._~+/-]+=*")


class UnusableFile(ValueError):
    """A file lacks the content that it must have; the message is for the operator."""


def _check_certificates(content: bytes) -> None:
    if (
        b"-----BEGIN CERTIFICATE-----" not in content
        and b"-----BEGIN TRUSTED CERTIFICATE-----" not in content
    ):
        raise UnusableFile(f"holds no certificate in PEM{_form_of(content)}")


def _check_key(content: bytes) -> None:
    if b"PRIVATE KEY-----" not in content:
        raise UnusableFile(f"holds no private key in PEM{_form_of(content)}")


def _form_of(content: bytes) -> str:
    if content.startswith(b"\xfe\xed\xfe\xed"):
        return ": it is a Java key store; convert it with keytool -importkeystore to PKCS12, then with openssl pkcs12"
    if content.startswith(b"\x30"):
        return ": it is binary (DER or PKCS12); convert it with openssl x509 or openssl pkcs12"
    return ": is it the right file?"


def read_token(content: bytes) -> str:
    """Return the bearer token that a file holds.

    Raises:
        UnusableFile: it holds no bearer token (RFC 6750, section 2.1).
    """
    token = content.strip()
    if not _TOKEN.fullmatch(token):
        raise UnusableFile(
            "holds no bearer token, or more than one" if token else "empty: write the token into it"
        )
    return token.decode("ascii")


def _check_keytab(content: bytes) -> None:
    if not content.startswith(b"\x05"):
        raise UnusableFile("no keytab: is it the right file?")


def _check_token(content: bytes) -> None:
    read_token(content)


@dataclass(frozen=True, slots=True)
class _Kind:
    what: str
    max_bytes: int
    check: Callable[[bytes], None] | None = None
    """Checks the content; None for a secret, which the loader reads itself."""


_CERTIFICATES = _Kind("certificate file", MAX_PEM_BYTES, _check_certificates)
_TLS_FILES = {
    "ca_file": _CERTIFICATES,
    "certificate_file": _CERTIFICATES,
    "key_file": _Kind("key file", MAX_PEM_BYTES, _check_key),
    "key_password_file": _Kind("password file", MAX_SECRET_BYTES),
}
_SASL_FILES = {
    "password_file": _Kind("password file", MAX_SECRET_BYTES),
    "client_secret_file": _Kind("client secret file", MAX_SECRET_BYTES),
    "token_endpoint_ca_file": _CERTIFICATES,
    "token_file": _Kind("token file", MAX_TOKEN_BYTES, _check_token),
    "keytab_file": _Kind("keytab", MAX_PEM_BYTES, _check_keytab),
}


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file that a section names."""

    section: dict[str, object]
    loc: Loc
    """The place of its key."""

    key: str
    what: str
    max_bytes: int
    _check: Callable[[bytes], None] | None

    @property
    def is_secret(self) -> bool:
        """Whether it holds a password."""
        return self._check is None

    def keep_secret(self, value: bytes) -> None:
        """Put the file's secret beside its key."""
        self.section[self.key.removesuffix("_file")] = KeptSecret(value)

    def keep_path(self, content: bytes, path: str) -> None:
        """Replace its name by its path.

        Raises:
            UnusableFile: it lacks the content that it must have.
        """
        assert self._check is not None
        self._check(content)
        if (
            self.key == "key_file"
            and _ENCRYPTED.search(content)
            and not self.section.get("key_password_file")
        ):
            raise UnusableFile("encrypted: add key_password_file")
        self.section[self.key] = path


def secured_sections(data: dict[str, object]) -> Iterator[tuple[Loc, dict[str, object], bool]]:
    """Yield each section that secures connections to brokers: its place, its content, and whether it is about TLS."""
    several: list[tuple[Loc, object]] = [
        (("upstreams", index), one) for index, one in enumerate(_list(data.get("upstreams")))
    ]
    for here, upstream in [(("upstream",), data.get("upstream")), *several]:
        if isinstance(upstream, dict):
            yield from _section(upstream, "tls", here, is_tls=True)
            yield from _section(upstream, "sasl", here)
    for index, tenant in enumerate(_list(data.get("tenants"))):
        if not isinstance(tenant, dict):
            continue
        at: Loc = ("tenants", index)
        yield from _section(tenant, "upstream_sasl", at)
        auth = tenant.get("auth")
        for number, user in enumerate(_list(auth.get("credentials") if isinstance(auth, dict) else None)):
            if isinstance(user, dict):
                yield from _section(user, "upstream_sasl", (*at, "auth", "credentials", number))


def named_files(loc: Loc, section: dict[str, object], *, is_tls: bool) -> Iterator[NamedFile]:
    """Yield the files that a section names."""
    for key, kind in (_TLS_FILES if is_tls else _SASL_FILES).items():
        name = section.get(key)
        if isinstance(name, str) and name:
            yield NamedFile(section, (*loc, key), key, kind.what, kind.max_bytes, kind.check)


def lacks_gssapi(section: dict[str, object]) -> bool:
    """Whether a section needs Kerberos but the library for it is not installed."""
    keys = KEYS_OF_ONE[UpstreamMechanism.GSSAPI]
    is_implied = section.get("mechanism") is None and any(section.get(key) for key in keys)
    return (section.get("mechanism") == "GSSAPI" or is_implied) and find_spec("gssapi") is None


def _section(
    parent: dict[str, object], key: str, at: Loc, *, is_tls: bool = False
) -> Iterator[tuple[Loc, dict[str, object], bool]]:
    value = parent.get(key)
    if isinstance(value, dict):
        yield (*at, key), value, is_tls


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
