from typing import Any

import pytest
from pydantic import ValidationError

from bifrost.config.fields.server_tls import ClientAuth, ServerTls, TlsVersion


def section(**keys: Any) -> ServerTls:
    return ServerTls.model_validate({"certificate_file": "c", "key_file": "k"} | keys)


def test_defaults_are_kafkas() -> None:
    tls = section()

    assert (tls.client_auth, tls.min_version) == (ClientAuth.NONE, TlsVersion.V1_2)
    assert (tls.principal_mapping_rules, tls.has_mapping) == ("DEFAULT", False)


@pytest.mark.parametrize("client_auth", ["requested", "required"])
def test_certificates_of_clients_need_a_ca_and_may_be_mapped(client_auth: str) -> None:
    assert section(
        client_auth=client_auth, client_ca_file="ca", principal_mapping_rules="DEFAULT"
    ).has_mapping
    with pytest.raises(ValidationError, match=f"{client_auth} trusts no certificate without client_ca_file"):
        section(client_auth=client_auth)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"client_ca_file": "ca"}, "client_ca_file does nothing with client_auth none"),
        ({"client_crl_file": "crl"}, "client_crl_file is about clients' certificates"),
        ({"principal_mapping_rules": "DEFAULT"}, "client_auth none asks for none"),
        ({"principal_mapping_rules": "RULE:(/x/"}, "a group is not closed"),
        ({"min_version": "TLSv1.1"}, "TLSv1.2"),
        ({"client_auth": "maybe"}, "requested"),
    ],
)
def test_what_would_protect_nothing_is_refused(keys: dict[str, str], expected: str) -> None:
    with pytest.raises(ValidationError, match=expected):
        section(**keys)
