"""Who asks: an admin, by a bearer token (RFC 6750) or by the certificate of the connection; and what it may do."""

from dataclasses import dataclass
from http import HTTPStatus

from bifrost.authentication.distinguished_name import MAX_NAME_LENGTH, BadCertificate, read_subject
from bifrost.config.fields.control import Control, ControlAdmin, Role
from bifrost.config.principals.principal_mapping import PrincipalMapping
from bifrost.control.problem import Problem

MAX_TOKEN_LENGTH = 4096
"""Longest token that is looked at: the longest that the configuration takes."""


@dataclass(frozen=True, slots=True)
class Asker:
    """An admin that has proved who it is."""

    name: str
    role: Role

    @property
    def principal(self) -> str:
        """What the state and the log say."""
        return f"Admin:{self.name}"

    def check_operator(self) -> None:
        """Check that the admin may change something.

        Raises:
            Problem: it may not.
        """
        if self.role is not Role.OPERATOR:
            raise Problem(
                HTTPStatus.FORBIDDEN,
                "forbidden",
                f"{self.principal} has the role {self.role}, and a change needs {Role.OPERATOR}",
                "ask an operator, or give the admin the role in proxy.control.admins",
            )


class Access:
    """The admins of a configuration."""

    def __init__(self, settings: Control) -> None:
        """Take the admins of the section `proxy.control`."""
        self._by_token = [(one.verifier, one) for one in settings.admins if one.verifier is not None]
        self._by_principal = {
            one.certificate_principal: one for one in settings.admins if one.certificate_principal is not None
        }
        self._mapping = PrincipalMapping(
            "DEFAULT" if settings.tls is None else settings.tls.principal_mapping_rules
        )

    def identify(self, authorization: str | None, certificate: bytes | None) -> Asker:
        """Return the admin of a request.

        A token that is given must be right: a wrong one is refused, whatever the certificate says.

        Args:
            authorization: the header of that name; None: there is none.
            certificate: what the client has shown, in DER, accepted by OpenSSL; None: nothing.
        Raises:
            Problem: neither is that of an admin. It does not say which part was wrong.
        """
        found = None
        if authorization is not None:
            found = self._of_token(authorization)
        elif certificate is not None:
            found = self._of_certificate(certificate)
        if found is None:
            raise Problem(
                HTTPStatus.UNAUTHORIZED,
                "unauthenticated",
                "the request has no token and no certificate of an admin",
                "send the header Authorization: Bearer TOKEN with a token of proxy.control.admins",
                headers={"WWW-Authenticate": 'Bearer realm="bifrost"'},
            )
        return Asker(found.name, found.role)

    def _of_token(self, authorization: str) -> ControlAdmin | None:
        scheme, _, token = authorization.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not 0 < len(token) <= MAX_TOKEN_LENGTH:
            return None
        given, found = token.encode("utf-8", "surrogatepass"), None
        for verifier, admin in self._by_token:  # All of them, so that the time does not say which one it was.
            if verifier.matches(given):
                found = admin
        return found

    def _of_certificate(self, certificate: bytes) -> ControlAdmin | None:
        try:
            subject = read_subject(certificate)
        except BadCertificate:
            return None
        if len(subject) > MAX_NAME_LENGTH:
            return None
        principal = self._mapping.principal_of(subject)
        return None if principal is None else self._by_principal.get(principal)
