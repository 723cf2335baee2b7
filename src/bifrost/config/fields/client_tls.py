"""How the gateway, as a client, encrypts its connections to the brokers: the section `upstream.tls`.

Kafka's words are the `ssl.*` settings of its clients; files are PEM (KIP-651), not Java key stores.
"""

from enum import StrEnum

from pydantic import Field

from bifrost.config.kept_secret import KeptSecret
from bifrost.config.section import Section
from bifrost.config.values import Flag, Text


class TlsVersion(StrEnum):
    """A version of TLS, as Java names it."""

    TLS_1_2 = "TLSv1.2"
    TLS_1_3 = "TLSv1.3"


class ClientTls(Section):
    """TLS towards the brokers, for `security_protocol` SSL and SASL_SSL.

    When a file has changed, the next connection reads all of them again; existing connections continue.
    """

    ca_file: Text | None = Field(default=None, examples=["tls/kafka-ca.pem"])
    """File with the trusted certificates, PEM: of the authorities that sign the brokers', or the brokers' own (Kafka's
    `ssl.truststore.location`). A relative path starts at the folder of the configuration file, as those below do.
    Default: the certificates that the system trusts."""

    certificate_file: Text | None = Field(default=None, examples=["tls/gateway.pem"])
    """File with the certificate, PEM, that the gateway shows to the brokers (mTLS), followed by those of the
    authorities that signed it, without the root's. Default: the gateway shows none."""

    key_file: Text | None = Field(default=None, examples=["tls/gateway.key"])
    """File with the private key of the certificate, PEM. Goes with `certificate_file`. Default: none."""

    key_password_file: Text | None = None
    """File that holds the password of an encrypted `key_file`, without its final line break. Default: the key is not
    encrypted."""

    verify_hostname: Flag = True
    """Whether a broker's certificate must be for the host that the gateway connects to, which is the one the broker
    advertises (Kafka's `ssl.endpoint.identification.algorithm`). Default true; with false, any server that has a
    certificate of the same authority can pose as a broker."""

    min_version: TlsVersion = TlsVersion.TLS_1_2
    """Lowest version of TLS, `TLSv1.2` or `TLSv1.3`. Default `TLSv1.2`, Kafka's own."""

    ciphers: Text | None = Field(default=None, examples=["ECDHE+AESGCM"])
    """Cipher suites for TLS 1.2 in OpenSSL's form; all those of TLS 1.3 are always allowed. Default: OpenSSL's own
    choice."""

    key_password: KeptSecret | None = Field(default=None, repr=False)
    """The password of the key. Not a key of the file: the loader reads it from `key_password_file`."""
