"""Explains to the operator why a TLS handshake failed, from OpenSSL's reason."""

from bifrost.session.close_reason import CloseReason

_REFUSED_BY_CLIENT = frozenset(
    {
        "SSLV3_ALERT_BAD_CERTIFICATE",
        "SSLV3_ALERT_CERTIFICATE_EXPIRED",
        "SSLV3_ALERT_CERTIFICATE_UNKNOWN",
        "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE",
        "TLSV1_ALERT_UNKNOWN_CA",
    }
)
"""Alerts of clients that refuse the gateway's certificate: its CA is not in their truststore, it names other hosts."""

_TOO_OLD = frozenset(
    {"UNSUPPORTED_PROTOCOL", "VERSION_TOO_LOW", "WRONG_SSL_VERSION", "NO_PROTOCOLS_AVAILABLE"}
)


def explain_tls_failure(reason: str | None, verify_message: str | None = None) -> tuple[CloseReason, str]:
    """Return why the connection is closed.

    Args:
        reason: OpenSSL's name of what went wrong, as `ssl.SSLError.reason`.
        verify_message: why OpenSSL refused the client's certificate; None if it did not.
    """
    if verify_message is not None:
        return CloseReason.CLIENT_CERTIFICATE_REFUSED, f"the client's certificate: {verify_message}"
    words = (reason or "unknown error").replace("_", " ").lower()
    if reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE":
        detail = "the client showed no certificate: give it a keystore"
        return CloseReason.CLIENT_CERTIFICATE_REFUSED, detail
    if reason in _REFUSED_BY_CLIENT:
        detail = (
            f"the client does not take the gateway's certificate ({words}): it must trust its CA (truststore) and "
            "connect to a host that the certificate names"
        )
    elif reason in _TOO_OLD:
        detail = f"the client speaks no TLS as new as min_version ({words})"
    elif reason == "NO_SHARED_CIPHER":
        detail = "no cipher in common with the client: mend ciphers, here or there"
    else:
        detail = f"the TLS handshake failed: {words}"
    return CloseReason.TLS_HANDSHAKE_FAILED, detail
