"""The admin HTTP API: the section `proxy.control`, which `bifrost control` serves."""

import ipaddress
from enum import StrEnum

from pydantic import Field, model_validator

from bifrost.config.fields.server_tls import ClientAuth, ServerTls
from bifrost.config.secrets import Secret
from bifrost.config.section import Section
from bifrost.config.values import Count, DurationMs, Host, Name, Port, SizeBytes, Text

MAX_ADMINS = 1_000
"""Most admins: a token is compared with that of each."""


class Role(StrEnum):
    """What an admin may do."""

    OPERATOR = "operator"
    VIEWER = "viewer"


class ControlAdmin(Section):
    """A person or a program that may use the admin API.

    At least one of `token_file`, `token_sha256` and `certificate_principal`; a token is in a file or a digest, not
    both.
    """

    name: Name = Field(examples=["alice"])
    """The name of the admin; the state and the log say `Admin:` and this name for what the admin has changed.
    Required."""

    role: Role = Role.VIEWER
    """What the admin may do: `operator` reads and changes everything, `viewer` reads everything. Default `viewer`."""

    token_file: Text | None = Field(default=None, examples=["secrets/alice.token"])
    """File that holds the admin's bearer token, 32 bytes to 4 KiB: random ones, for example of `openssl rand -hex 32`.
    The process keeps only its SHA-256. A relative path starts at the folder of the configuration file. Default:
    none."""

    token_sha256: Text | None = Field(
        default=None, pattern="^[0-9a-f]{64}$", examples=["9f86d081884c7d65..."]
    )
    """The SHA-256 of the admin's bearer token, 64 hexadecimal digits in lower case, in place of `token_file`: no
    process reads the token itself. Only for a random token: one that a person made up can be found from the digest.
    Default: none."""

    certificate_principal: Text | None = Field(default=None, examples=["CN=ci,O=Platform"])
    """The principal of the admin's certificate, as `tls.principal_mapping_rules` makes it; by default the certificate's
    distinguished name. Needs `tls.client_auth`. Default: none."""

    token: Secret | None = Field(default=None, repr=False)
    """The token. Not a key of the file: the loader reads it from `token_file`."""

    @model_validator(mode="after")
    def _check_proof(self) -> "ControlAdmin":
        if self.token_file is not None and self.token_sha256 is not None:
            raise ValueError("token_file and token_sha256 are two ways to give one token: remove one")
        if self.token_file is None and self.token_sha256 is None and self.certificate_principal is None:
            raise ValueError(
                "an admin proves who it is by a token or a certificate: add token_file, token_sha256 or "
                "certificate_principal"
            )
        return self

    @property
    def verifier(self) -> Secret | None:
        """What checks the admin's token; None: the admin has none."""
        return self.token if self.token_sha256 is None else Secret.of_digest(bytes.fromhex(self.token_sha256))


class Control(Section):
    """The admin HTTP API, which `bifrost control` serves in a process of its own; see [control.md](control.md).

    It changes what gateways share, so it needs `proxy.state`. A gateway ignores the section. `bifrost control` takes
    over a change of the admins, and of the bounds but `max_request_bytes`, while it runs; any other needs a restart.
    """

    bind_host: Host = "127.0.0.1"
    """Address on which the port is bound. Default `127.0.0.1`; another address than a loopback one needs `tls`, because
    tokens are readable on the way without it."""

    port: Port = Field(examples=["9405"])
    """TCP port of the API. Required."""

    tls: ServerTls | None = None
    """The certificate of the API, and which certificates of admins are trusted. Default: none, plain HTTP."""

    admins: tuple[ControlAdmin, ...] = Field(min_length=1, max_length=MAX_ADMINS, examples=["[...]"])
    """Who may use the API, 1 to 1,000 admins. Required."""

    max_request_bytes: SizeBytes = Field(default=1_048_576, ge=1_024, le=67_108_864)
    """Most bytes of the body of a request. Default 1 MiB, more than any change of one transaction needs."""

    max_requests: Count = Field(default=64, ge=1, le=10_000)
    """Most requests at one time; a further one is answered with 503. Default 64, because all changes wait for one
    writer."""

    max_requests_per_second: Count = Field(default=50, ge=1, le=100_000)
    """Most requests of one admin in a second, on average; twice as many may come at once, and a further one is answered
    with 429. The same bounds all requests together that do not prove who asks. Default 50."""

    request_timeout_ms: DurationMs = Field(default=60_000, ge=1_000, le=3_600_000)
    """Time limit of a request, from its first line to its answer. Default 1 minute: a change that meets others is
    tried again for some 20 s."""

    @model_validator(mode="after")
    def _check(self) -> "Control":
        asks = self.tls is not None and self.tls.client_auth is not ClientAuth.NONE
        for admin in self.admins:
            if admin.certificate_principal is not None and not asks:
                raise ValueError(
                    f"admin {admin.name} has a certificate_principal, and no certificate is asked for: write "
                    "tls.client_auth requested or required, and tls.client_ca_file"
                )
        for what, values in (
            ("name", [one.name for one in self.admins]),
            ("certificate_principal", [one.certificate_principal for one in self.admins]),
            ("token", [one.verifier for one in self.admins]),
        ):
            given = [one for one in values if one is not None]
            if len(set(given)) < len(given):
                raise ValueError(f"two admins have the same {what}: give each its own")
        if self.tls is None and not _is_loopback(self.bind_host):
            raise ValueError(
                f"bind_host {self.bind_host} can be reached from other machines, and tokens are readable without tls: "
                "add tls, or bind a loopback address and let a proxy encrypt"
            )
        return self


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
