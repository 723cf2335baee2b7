"""TLS towards clients: the section `proxy.listener_sets[].tls`."""

from enum import StrEnum

from pydantic import Field, model_validator

from bifrost.config.principals.principal_mapping import PrincipalMappingRules
from bifrost.config.section import Section
from bifrost.config.values import Text


class ClientAuth(StrEnum):
    """Whether clients show a certificate: Kafka's `ssl.client.auth`."""

    NONE = "none"
    REQUESTED = "requested"
    REQUIRED = "required"


class TlsVersion(StrEnum):
    """A version of TLS, as Kafka's `ssl.enabled.protocols` names it."""

    V1_2 = "TLSv1.2"
    V1_3 = "TLSv1.3"


class ServerTls(Section):
    """Which certificate the gateway shows to clients, and which certificates of clients it trusts.

    The gateway checks the files every few seconds while clients connect: new connections use the new content, and
    existing ones continue. When the new files do not fit together, it keeps the old content and logs a warning.
    """

    certificate_file: Text = Field(examples=["tls/gateway.pem"])
    """File of the gateway's certificate and the intermediate ones up to the CA, in PEM, the gateway's own first. It
    must name every host that clients connect to (subject alternative names). A relative path starts at the
    folder of the configuration file, here and below. Required."""

    key_file: Text = Field(examples=["tls/gateway.key"])
    """File of the certificate's private key, in PEM. Required."""

    key_password_file: Text | None = None
    """File of the password that encrypts the key, without its final line break. Default: the key is
    not encrypted."""

    client_auth: ClientAuth = ClientAuth.NONE
    """Whether clients show a certificate, as Kafka's `ssl.client.auth`: `required`, `requested` (one that is shown
    must be trusted) or `none`. Default `none`, as Kafka's."""

    client_ca_file: Text | None = None
    """File of the CA certificates that are trusted to sign client certificates, in PEM; each is trusted by itself,
    whether it is a root or an intermediate one. Default: the key is absent, and `client_auth` is `none`."""

    client_crl_file: Text | None = None
    """File of the lists of revoked certificates (CRLs) of the CAs in `client_ca_file`, in PEM, at most 1 MiB. Each CA
    between a client's certificate and its root needs one, also the root; a client is refused if one of them is revoked,
    has no list, or its list has expired (its next update is past). Every intermediate CA in `client_ca_file` needs its
    root there. Default: the key is absent, and revocation is not checked, as by a broker by default."""

    min_version: TlsVersion = TlsVersion.V1_2
    """Oldest TLS version that is accepted: `TLSv1.2` or `TLSv1.3`. Default `TLSv1.2`, the oldest that is safe; Kafka's
    clients speak TLSv1.3 on Java 11 and later."""

    ciphers: Text | None = None
    """The ciphers of TLSv1.2, in OpenSSL's notation, e.g. `ECDHE+AESGCM:ECDHE+CHACHA20`; those of TLSv1.3 are all safe
    and cannot be chosen. Default: the key is absent, and the safe ones of the installed OpenSSL are used."""

    principal_mapping_rules: PrincipalMappingRules = "DEFAULT"
    """How the distinguished name of a certificate becomes a principal, as Kafka's `ssl.principal.mapping.rules`:
    `RULE:pattern/replacement/` with `L` or `U` behind it for lower or upper case, or `DEFAULT`, the name as it is;
    several separated by commas; the first that matches applies, and if none matches the client is refused. Only with
    SSL; with SASL_SSL, SASL gives the principal. Default `DEFAULT`."""

    @model_validator(mode="after")
    def _check_client_ca(self) -> "ServerTls":
        if self.client_auth is ClientAuth.NONE and self.client_ca_file is not None:
            raise ValueError(
                "client_ca_file does nothing with client_auth none: write client_auth: required, or remove it"
            )
        if self.client_auth is not ClientAuth.NONE and self.client_ca_file is None:
            raise ValueError(
                f"client_auth {self.client_auth} trusts no certificate without client_ca_file: add it"
            )
        if self.client_ca_file is None and self.client_crl_file is not None:
            raise ValueError(
                "client_crl_file is about clients' certificates, and none is asked for without client_ca_file: "
                "write client_auth and client_ca_file, or remove it"
            )
        if self.client_auth is ClientAuth.NONE and self.has_mapping:
            raise ValueError(
                "principal_mapping_rules map client certificates, and client_auth none asks for none: remove one"
            )
        return self

    @property
    def has_mapping(self) -> bool:
        """Whether the mapping of certificates' names differs from the default."""
        return "principal_mapping_rules" in self.model_fields_set
