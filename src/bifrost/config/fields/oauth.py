"""Which issuer's access tokens the gateway accepts: the section `proxy.oauth`.

Defaults are those of Kafka's own settings `sasl.oauthbearer.*` where it has one.
"""

import re
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from bifrost.config.section import Section
from bifrost.config.values import Count, DurationMs, Flag, SizeBytes, Text

_HOST = r"(?:\[[0-9a-fA-F:.]+\]|[a-zA-Z0-9_](?:[a-zA-Z0-9_.-]*[a-zA-Z0-9_.])?)"
_URL = re.compile(rf"https?://{_HOST}(?::[0-9]{{1,5}})?(?:/[!-\"$-~]*)?")

DISCOVERY_PATH = "/.well-known/openid-configuration"
"""Path of an issuer's metadata, below its own URL (OpenID Connect Discovery, section 4)."""


def _check_url(url: str) -> str:
    if not _URL.fullmatch(url):
        raise ValueError(
            f"{url[:80]!r} is no URL that can be asked: write https://host/path, without user, password and fragment"
        )
    return url


def _check_claim(name: str) -> str:
    if not name.isprintable():
        raise ValueError(f"{name!r} has control characters")
    return name


Url = Annotated[Text, AfterValidator(_check_url)]
Claim = Annotated[Text, Field(max_length=256), AfterValidator(_check_claim)]
Scope = Annotated[Text, Field(pattern=r"^[!#-\[\]-~]+$")]


class Algorithm(StrEnum):
    """How a token may be signed (RFC 7518, section 3): by a private key, so that checkers cannot make tokens."""

    RS256 = "RS256"
    RS384 = "RS384"
    RS512 = "RS512"
    PS256 = "PS256"
    PS384 = "PS384"
    PS512 = "PS512"
    ES256 = "ES256"
    ES384 = "ES384"
    ES512 = "ES512"


class OAuth(Section):
    """Which access tokens the gateway accepts (SASL/OAUTHBEARER): signed JSON Web Tokens of one issuer.

    The gateway reads the issuer's public keys when it starts and fetches them again regularly. It also starts without
    them: until it has them, it refuses every client that shows a token.
    """

    issuer: Text = Field(examples=['"https://login.example.com/realms/kafka"'])
    """The issuer of the tokens: their claim `iss` must be exactly this. Required."""

    jwks_url: Url | None = None
    """Where the issuer's public keys are (a JWK set, RFC 7517), `https://` or `http://`; redirects are not followed.
    With `http` an attacker on the network path can replace the keys and let in any client. Default: the key is absent
    and so is `jwks_file`; then it is the `jwks_uri` in the issuer's metadata, below its own URL at
    `/.well-known/openid-configuration`."""

    jwks_file: Text | None = None
    """File that holds the issuer's public keys, in place of `jwks_url`, at most 256 KiB; a relative path starts at
    the folder of the configuration file. It is read again as often as keys are fetched. Default: none."""

    ca_file: Text | None = None
    """File with the certificates, in PEM form, of the authorities that are trusted to sign the issuer's HTTPS
    certificate; a relative path starts at the folder of the configuration file. Default: the key is absent and those
    that the system trusts are."""

    audience: tuple[Text, ...] = Field(default=(), max_length=100)
    """Audiences that are accepted: a token's claim `aud` must have one of these, as Kafka's
    `sasl.oauthbearer.expected.audience`. Default: none, which is accepted only where `any_audience` is true."""

    any_audience: Flag = False
    """Whether tokens for any audience are accepted. Default false, because the issuer makes tokens for other services
    too, and each of these services could use the tokens of its clients here."""

    scope: tuple[Scope, ...] = Field(default=(), max_length=100)
    """Scopes that a token must all have, in its claim `scope` or `scp`: a list, or a text separated by spaces.
    Default: none."""

    principal_claim: Claim = "sub"
    """Claim with the client's principal, a text of 1 to 256 printable characters. Default `sub`, as Kafka's
    `sasl.oauthbearer.sub.claim.name`."""

    namespace_claim: Claim | None = None
    """Claim that names the client's tenant: `tenant`, or `tenant:tier:tier` for a namespace below it. The tenant must
    be one of this file; a token without the claim is refused. Default: the key is absent and the principal decides: it
    must be one of some tenant's `principals`."""

    algorithms: tuple[Algorithm, ...] = Field(default=tuple(Algorithm), min_length=1, max_length=9)
    """How tokens may be signed. Default: each of `RS256`, `RS384`, `RS512`, `PS256`, `PS384`, `PS512`, `ES256`,
    `ES384` and `ES512` that the key allows; there is no way to allow unsigned ones, nor those signed with a shared
    secret."""

    clock_skew_ms: DurationMs = Field(default=30_000, ge=0, le=300_000)
    """How far the issuer's clock and this machine's may differ, in milliseconds, when a token's times are checked.
    Default 30 s, Kafka's `sasl.oauthbearer.clock.skew.seconds`."""

    max_token_bytes: SizeBytes = Field(default=16_384, ge=256, le=262_144)
    """Largest token read, in bytes. Default 16 KiB: tokens have one or two, those that list a user's groups some
    more."""

    jwks_refresh_ms: DurationMs = Field(default=3_600_000, ge=1_000, le=86_400_000)
    """Time after which the keys are fetched again, in milliseconds. Default 1 h, Kafka's
    `sasl.oauthbearer.jwks.endpoint.refresh.ms`: a new key is also fetched when a client shows the first token signed by
    it."""

    jwks_unknown_key_refresh_ms: DurationMs = Field(default=10_000, ge=100, le=3_600_000)
    """Least time between two fetches because of a key that is not known, in milliseconds: any client can show tokens
    that name one. Default 10 s, so the issuer is asked six times a minute at most."""

    jwks_max_age_ms: DurationMs = Field(default=86_400_000, ge=1_000, le=2_592_000_000)
    """How long keys are trusted that could not be fetched again, in milliseconds: the issuer may have withdrawn one
    meanwhile. Default 24 h: operators notice a longer outage."""

    max_keys: Count = Field(default=100, ge=1, le=1_000)
    """Most keys read of a set; one with more is refused as a whole. Default 100: issuers have two or three."""

    @model_validator(mode="after")
    def _check_keys_and_audience(self) -> "OAuth":
        if self.jwks_url is not None and self.jwks_file is not None:
            raise ValueError("has both jwks_url and jwks_file: remove one")
        if self.jwks_url is None and self.jwks_file is None and not _URL.fullmatch(self.issuer):
            raise ValueError("issuer is no URL that could be asked for its keys: add jwks_url, or jwks_file")
        if not self.audience and not self.any_audience:
            raise ValueError(
                "says of no audience that it is meant: add audience, e.g. [kafka], or any_audience: true"
            )
        if self.audience and self.any_audience:
            raise ValueError("has both audience and any_audience: remove one")
        if self.jwks_max_age_ms < self.jwks_refresh_ms:
            raise ValueError(
                f"jwks_max_age_ms {self.jwks_max_age_ms} is less than jwks_refresh_ms {self.jwks_refresh_ms}: "
                "keys would be too old before they are fetched anew"
            )
        return self
