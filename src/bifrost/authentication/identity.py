"""Identifies a client without SASL: by its certificate, or by the listener set that it connected to (PLAINTEXT, SSL).

Source: DefaultKafkaPrincipalBuilder: without a certificate User:ANONYMOUS, else the mapped name of its subject.
"""

from dataclasses import dataclass

from bifrost.authentication.accounts import Account, Accounts, AuthenticationFailed
from bifrost.authentication.distinguished_name import MAX_NAME_LENGTH, BadCertificate, read_subject
from bifrost.config.principals.principal_mapping import PrincipalMapping

ANONYMOUS = "ANONYMOUS"
"""The principal of a client that did not authenticate (KafkaPrincipal.ANONYMOUS)."""


@dataclass(frozen=True, slots=True)
class Identification:
    """How a listener set finds the account of a connection."""

    accounts: Accounts
    mapping: PrincipalMapping
    tenant: str | None
    """The tenant of all connections; None when the principal decides."""

    def account_of(self, certificate: bytes | None) -> Account:
        """Return the account of a client.

        Args:
            certificate: the one that the client has proved to own, in DER; None without one.
        Raises:
            AuthenticationFailed: no rule maps its name, or no tenant has the principal.
        """
        name = ANONYMOUS if certificate is None else self._principal(certificate)
        if self.tenant is not None:
            return Account(name, self.tenant, is_listed=False)
        account = None if certificate is None else self.accounts.of_principal(name)
        if account is None:
            raise _failed(f"no tenant has the principal User:{show(name)}: add it to auth.principals of one")
        return account

    def _principal(self, certificate: bytes) -> str:
        try:
            subject = read_subject(certificate)
        except BadCertificate as error:
            raise _failed(f"the client's certificate: {error}") from None
        if len(subject) > MAX_NAME_LENGTH:
            size = f"{len(subject)} characters; at most {MAX_NAME_LENGTH} are mapped"
            raise _failed(f"the client's certificate has a name of {size}")
        name = self.mapping.principal_of(subject)
        if not name:
            raise _failed(f"none of principal_mapping_rules matches {show(subject)}")
        return name


def show(name: str) -> str:
    """Return a name as it may stand in a log line."""
    return name.encode("unicode_escape").decode("ascii")


def _failed(detail: str) -> AuthenticationFailed:
    return AuthenticationFailed("Authentication failed", detail)
