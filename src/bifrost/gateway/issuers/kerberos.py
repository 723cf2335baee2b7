"""Kerberos contexts of MIT's library, which authentication/gssapi_server.py uses.

Accepting a client needs this machine alone: some 70 us, keys from the keytab, one record in the replay cache's file, no
request to a key distribution center. So it runs on the event loop.
"""

from collections.abc import Callable
from typing import Any

from bifrost.authentication.gssapi_server import ContextFailed, KerberosSettings
from bifrost.config.fields.kerberos import Kerberos
from bifrost.config.principals.kerberos_rules import LocalNames
from bifrost.gateway.errors import StartError

_PASSING = frozenset({0x96C73A21, 0x96C73A22})
"""Minor codes of errors that may pass: KRB5KRB_AP_ERR_TKT_NYV, KRB5KRB_AP_ERR_REPEAT (KerberosError.retriable)."""


def kerberos_settings(settings: Kerberos) -> KerberosSettings:
    """Return the settings that accept clients; read the keytab once, to check that it has a key of the service.

    Raises:
        StartError: the package is missing, or the keytab has no such key.
    """
    try:
        import gssapi
    except (ImportError, OSError) as error:
        raise StartError(
            "proxy.kerberos needs the package gssapi: pip install '.[gssapi]' in a clone of Bifrost, "
            "which needs MIT Kerberos "
            f"and a C compiler, e.g. apt install libkrb5-dev gcc ({type(error).__name__})"
        ) from None
    host = "" if settings.hostname is None else f"@{settings.hostname}"
    service = gssapi.Name(f"{settings.service_name}{host}", name_type=gssapi.NameType.hostbased_service)
    store = {"keytab": f"FILE:{settings.keytab_file}"}
    if settings.replay_cache is not None:
        store["rcache"] = settings.replay_cache
    try:
        credentials = gssapi.Credentials(
            name=service, usage="accept", store=store, mechs=[gssapi.MechType.kerberos]
        )
    except gssapi.exceptions.GSSError as error:
        raise StartError(
            f"proxy.kerberos: {settings.keytab_file} gives no key for {settings.service_name}/"
            f"{settings.hostname or 'HOST'}@{settings.realm}: {error}; klist -k shows what it has"
        ) from None

    def new_context() -> Context:
        return Context(
            lambda: gssapi.SecurityContext(creds=credentials, usage="accept"), gssapi.exceptions.GSSError
        )

    return KerberosSettings(new_context, LocalNames(settings.realm, settings.principal_to_local_rules))


class Context:
    """One context of MIT's library; its errors become ContextFailed."""

    def __init__(self, build: Callable[[], Any], error: type[Exception]) -> None:
        """Begin a context.

        Args:
            build: makes the library's context.
            error: the error class that the library raises.
        """
        self._error = error
        self._context = self._call(build)
        self.is_complete = False

    def step(self, token: bytes) -> bytes:
        """Process the client's token and return the answer, empty if there is none.

        Raises:
            ContextFailed: the ticket, or its proof, is not valid.
        """
        answer: bytes = self._call(lambda: self._context.step(token)) or b""
        # Asked for at once: the library delays an error that has an answer, and raises it here.
        self.is_complete = bool(self._call(lambda: self._context.complete))
        return answer

    def initiator(self) -> str:
        """Return the client's principal.

        Raises:
            ContextFailed: the client is not known yet.
        """
        return str(self._call(lambda: self._context.initiator_name))

    def wrap(self, message: bytes) -> bytes:
        """Return a message with a proof that this side sent it.

        Raises:
            ContextFailed: the context is not complete, or cannot do it.
        """
        wrapped: bytes = self._call(lambda: self._context.wrap(message, False)).message
        return wrapped

    def unwrap(self, message: bytes) -> bytes:
        """Return the message that the client has protected.

        Raises:
            ContextFailed: the message is not protected, or not by this client.
        """
        unwrapped: bytes = self._call(lambda: self._context.unwrap(message)).message
        return unwrapped

    def _call(self, operation: Callable[[], Any]) -> Any:
        try:
            return operation()
        except self._error as error:
            minor = getattr(error, "min_code", 0) & 0xFFFFFFFF
            raise ContextFailed(str(error), is_passing=minor in _PASSING) from None
