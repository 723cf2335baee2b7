import pytest

from bifrost.config.fields.tenants import Credential
from bifrost.config.kubernetes.camel_case import camel_keys, reword, to_camel
from bifrost.config.model import Config


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("name", "name"),
        ("scram_file", "scramFile"),
        ("max_reauth_ms", "maxReauthMs"),
        ("client_ca_file", "clientCaFile"),
    ],
)
def test_names_become_keys(name: str, key: str) -> None:
    assert to_camel(name) == key


def test_the_keys_of_a_section_lead_to_its_fields() -> None:
    keys = camel_keys(Credential, without=("verifiers",))

    assert keys["passwordFile"] == "password_file"
    assert "verifiers" not in keys
    assert set(keys.values()) == set(Credential.model_fields) - {"verifiers"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("add password_file, or scram_file", "add passwordFile, or scramFile"),
        ("write password_file: x", "write passwordFile: x"),
        ("set port_number (password_file).", "set port_number (passwordFile)."),
        (
            "password file secrets/password_file: no such file",
            "password file secrets/password_file: no such file",
        ),
        ("password file password_file.txt", "password file password_file.txt"),
        ("found the text 'password_file'", "found the text 'password_file'"),
        ("bootstrap_port of a_b", "port of a_b"),
    ],
)
def test_messages_name_keys_as_they_are_written(text: str, expected: str) -> None:
    assert reword(text, Config, {"bootstrap_port": "port"}) == expected
