import pytest

from bifrost.session.close_reason import CloseReason
from bifrost.session.first_bytes.tls_failure import explain_tls_failure

FAILED, REFUSED = CloseReason.TLS_HANDSHAKE_FAILED, CloseReason.CLIENT_CERTIFICATE_REFUSED


@pytest.mark.parametrize(
    ("reason", "verify_message", "expected", "words"),
    [
        (
            "CERTIFICATE_VERIFY_FAILED",
            "certificate has expired",
            REFUSED,
            "certificate: certificate has expired",
        ),
        ("PEER_DID_NOT_RETURN_A_CERTIFICATE", None, REFUSED, "showed no certificate"),
        ("TLSV1_ALERT_UNKNOWN_CA", None, FAILED, "must trust its CA (truststore)"),
        ("SSLV3_ALERT_CERTIFICATE_UNKNOWN", None, FAILED, "(sslv3 alert certificate unknown)"),
        ("UNSUPPORTED_PROTOCOL", None, FAILED, "min_version"),
        ("NO_SHARED_CIPHER", None, FAILED, "no cipher in common"),
        ("BAD_RECORD_TYPE", None, FAILED, "handshake failed: bad record type"),
        (None, None, FAILED, "unknown error"),
    ],
)
def test_what_openssl_says_is_put_in_words(
    reason: str | None, verify_message: str | None, expected: CloseReason, words: str
) -> None:
    found, detail = explain_tls_failure(reason, verify_message)

    assert found is expected
    assert words in detail
