from typing import Any

import pytest
from pydantic import ValidationError

from bifrost.config.fields.upstream_sasl import UpstreamSasl
from bifrost.config.kept_secret import KeptSecret


def sasl(mechanism: str | None, **more: Any) -> UpstreamSasl:
    return UpstreamSasl.model_validate({"mechanism": mechanism, **more})


@pytest.mark.parametrize(
    ("section", "account"),
    [
        (sasl("PLAIN", username="gateway"), "gateway"),
        (sasl("SCRAM-SHA-512", username="gateway", password_file="p"), "gateway"),
        (
            sasl("OAUTHBEARER", client_id="gateway-client", token_endpoint_url="https://idp/token"),
            "gateway-client",
        ),
        (sasl("OAUTHBEARER", token_file="/run/token"), "/run/token"),
        (sasl("GSSAPI", principal="gateway/host@EXAMPLE.COM", keytab_file="k"), "gateway"),
        (sasl("GSSAPI", principal="gateway@EXAMPLE.COM"), "gateway"),
        (sasl("GSSAPI", keytab_file="k"), "k"),
        (sasl("GSSAPI"), ""),
    ],
)
def test_an_account_is_named_as_a_broker_names_its_principal(section: UpstreamSasl, account: str) -> None:
    assert section.account == account


@pytest.mark.parametrize(
    ("section", "mechanisms"),
    [
        (sasl("PLAIN", username="gateway"), ["PLAIN"]),
        (sasl(None, username="gateway"), ["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"]),
        (sasl(None, client_id="gateway", token_endpoint_url="https://idp/token"), ["OAUTHBEARER"]),
        (sasl(None, token_file="/run/token"), ["OAUTHBEARER"]),
        (sasl(None, keytab_file="k", principal="gateway"), ["GSSAPI"]),
        (sasl(None, service_name="kafka"), ["GSSAPI"]),
    ],
)
def test_without_a_mechanism_the_other_keys_say_which_can_be_used(
    section: UpstreamSasl, mechanisms: list[str]
) -> None:
    assert [str(one) for one in section.mechanisms] == mechanisms


def test_only_kafkas_mechanisms_are_taken() -> None:
    with pytest.raises(ValidationError, match="mechanism"):
        sasl("SCRAM-SHA-1", username="gateway")


def test_secrets_are_not_shown() -> None:
    section = sasl(
        "PLAIN", username="gateway", password=KeptSecret(b"hunter2"), client_secret=KeptSecret(b"hunter2")
    )

    assert "hunter2" not in repr(section)
    assert section.password is not None
