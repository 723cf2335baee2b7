"""What of the security towards the brokers goes together: with the line, and what to do."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bifrost.config.errors import ConfigError
from bifrost.config.fields.upstream import Upstream
from bifrost.config.fields.upstream_sasl import UpstreamMechanism, UpstreamSasl
from bifrost.config.model import Config
from bifrost.config.security_protocol import SecurityProtocol
from bifrost.config.values import Address
from support.journal.loading import load
from unit.config.conftest import PROXY_YAML, problems_of

BOOTSTRAP = '  bootstrap: ["kafka-1.internal:9092", "kafka-2.internal:9092", "kafka-3.internal:9092"]\n'
SASL = BOOTSTRAP + "  security_protocol: SASL_SSL\n  sasl:\n"
PASSWORD = "secrets/acme.password"
SCRAM = f'mechanism: SCRAM-SHA-512, username: gateway, password_file: "{PASSWORD}"'

Problems = Callable[..., list[str]]


def test_without_a_word_connections_are_plain(folder: Path) -> None:
    upstream = load("proxy.yaml").upstream

    assert (upstream.security_protocol, upstream.tls, upstream.sasl) == ("PLAINTEXT", None, None)


@pytest.mark.parametrize(
    ("protocol", "has_tls", "has_sasl"),
    [
        ("PLAINTEXT", False, False),
        ("SSL", True, False),
        ("SASL_PLAINTEXT", False, True),
        ("SASL_SSL", True, True),
    ],
)
def test_protocols_are_kafkas(protocol: str, has_tls: bool, has_sasl: bool) -> None:
    one = SecurityProtocol(protocol)

    assert (one.has_tls, one.has_sasl) == (has_tls, has_sasl)


@pytest.mark.parametrize(
    ("mechanism", "keys"),
    [
        ("PLAIN", f'username: gateway, password_file: "{PASSWORD}"'),
        ("SCRAM-SHA-256", f'username: gateway, password_file: "{PASSWORD}"'),
        ("OAUTHBEARER", 'token_file: "secrets/acme.password"'),
        (
            "OAUTHBEARER",
            'token_endpoint_url: "https://login.example.com/token", client_id: gateway, scope: kafka, '
            f'client_secret_file: "{PASSWORD}"',
        ),
    ],
)
def test_every_mechanism_has_its_keys(folder: Path, mechanism: str, keys: str) -> None:
    sasl = f"{SASL}    {{ mechanism: {mechanism}, {keys} }}\n".replace("sasl:\n    ", "sasl: ")
    (folder / "proxy.yaml").write_text(PROXY_YAML.replace(BOOTSTRAP, sasl))

    account = load("proxy.yaml").upstream.sasl

    assert account is not None
    assert account.mechanism is UpstreamMechanism(mechanism)


@pytest.mark.parametrize(
    ("upstream", "expected"),
    [
        (
            "  tls: { verify_hostname: false }\n",
            "12: nothing is encrypted with security_protocol PLAINTEXT: write SSL or SASL_SSL there, or remove it",
        ),
        (
            f"  security_protocol: SASL_PLAINTEXT\n  sasl: {{ {SCRAM} }}\n  tls: {{ min_version: TLSv1.3 }}\n",
            "14: nothing is encrypted with security_protocol SASL_PLAINTEXT: write SASL_SSL there, or remove it",
        ),
        (
            f"  security_protocol: SSL\n  sasl: {{ {SCRAM} }}\n",
            "13: the gateway does not authenticate at the brokers with security_protocol SSL: write SASL_SSL there, "
            "or remove it",
        ),
        (
            "  security_protocol: SASL_SSL\n",
            "12: SASL_SSL needs an account at the brokers: add sasl, or write SSL",
        ),
        (
            "  security_protocol: SASL_PLAINTEXT\n  sasl: { mechanism: PLAIN }\n",
            "13: PLAIN needs password_file and username: add them",
        ),
        (
            "  security_protocol: SASL_PLAINTEXT\n  sasl: { mechanism: OAUTHBEARER }\n",
            "13: OAUTHBEARER needs client_id and client_secret_file and token_endpoint_url: add them, or token_file",
        ),
        (
            "  security_protocol: SASL_PLAINTEXT\n  sasl: { mechanism: OAUTHBEARER, client_id: x }\n",
            "13: OAUTHBEARER needs client_secret_file and token_endpoint_url: add them",
        ),
        (
            "  security_protocol: SASL_PLAINTEXT\n"
            f'  sasl: {{ mechanism: OAUTHBEARER, scope: x, token_file: "{PASSWORD}" }}\n',
            "13: the token is read from the file, and scope is given: remove one",
        ),
        (
            f"  security_protocol: SASL_PLAINTEXT\n  sasl: {{ {SCRAM}, client_id: x }}\n",
            "13: client_id is for OAUTHBEARER, not for SCRAM-SHA-512: remove it",
        ),
        (
            "  security_protocol: SASL_PLAINTEXT\n  sasl: {}\n",
            "13: no account: add username and password_file, or mechanism with its keys",
        ),
        (
            "  security_protocol: SASL_PLAINTEXT\n  sasl: { username: x }\n",
            "13: a login by password needs password_file: add it",
        ),
        (
            f'  security_protocol: SASL_PLAINTEXT\n  sasl: {{ username: x, token_file: "{PASSWORD}" }}\n',
            "13: username is for PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, not for OAUTHBEARER: remove it",
        ),
        (
            "  security_protocol: SASL_PLAINTEXT\n  sasl: { client_id: x }\n",
            "13: OAUTHBEARER needs client_secret_file and token_endpoint_url: add them",
        ),
        (
            "  security_protocol: SSL\n  tls: { certificate_file: gateway.pem }\n",
            "13: certificate_file goes with key_file: add that, or remove this",
        ),
        (
            "  security_protocol: SSL\n  tls: { key_file: gateway.key }\n",
            "13: key_file goes with certificate_file: add that, or remove this",
        ),
        (
            f'  security_protocol: SSL\n  tls: {{ key_password_file: "{PASSWORD}" }}\n',
            "13: key_password_file goes with key_file: add that, or remove this",
        ),
    ],
)
def test_what_does_not_go_together_is_said_where_it_stands(
    folder: Path, upstream: str, expected: str
) -> None:
    (folder / "gateway.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    (folder / "gateway.key").write_text("-----BEGIN PRIVATE KEY-----\n")

    assert problems_of(folder, PROXY_YAML.replace(BOOTSTRAP, BOOTSTRAP + upstream)) == [
        f"proxy.yaml:{expected}"
    ]


@pytest.mark.parametrize(
    "keys", [f'username: gateway, password_file: "{PASSWORD}"', f'token_file: "{PASSWORD}"']
)
def test_an_account_may_name_no_mechanism(folder: Path, keys: str) -> None:
    sasl = f"{SASL}    {{ {keys} }}\n".replace("sasl:\n    ", "sasl: ")
    (folder / "proxy.yaml").write_text(PROXY_YAML.replace(BOOTSTRAP, sasl))

    account = load("proxy.yaml").upstream.sasl

    assert account is not None
    assert account.mechanism is None


def test_a_keytab_needs_its_principal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bifrost.config.files.upstream_files.find_spec", lambda _name: object())
    (folder / "gateway.keytab").write_bytes(b"\x05\x02")
    sasl = "  security_protocol: SASL_SSL\n  sasl: { mechanism: GSSAPI, keytab_file: gateway.keytab }\n"

    assert problems_of(folder, PROXY_YAML.replace(BOOTSTRAP, BOOTSTRAP + sasl)) == [
        "proxy.yaml:13: keytab_file needs principal: add it"
    ]


def test_kerberos_needs_its_library(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bifrost.config.files.upstream_files.find_spec", lambda _name: None)
    sasl = "  security_protocol: SASL_SSL\n  sasl: { mechanism: GSSAPI }\n"

    assert problems_of(folder, PROXY_YAML.replace(BOOTSTRAP, BOOTSTRAP + sasl)) == [
        "proxy.yaml:13: upstream.sasl.mechanism: GSSAPI needs the library gssapi, which is not installed: "
        "pip install '.[gssapi]' in a clone of Bifrost"
    ]


def test_tenants_and_users_have_accounts_only_where_brokers_ask(problems: Problems) -> None:
    of_tenant = f"  - name: acme\n    upstream_sasl: {{ {SCRAM} }}\n"
    of_user = f'username: globex, upstream_sasl: {{ {SCRAM} }}, password_file: "secrets/globex.password"'
    hint = (
        "the gateway does not authenticate at the brokers with security_protocol PLAINTEXT: write SASL_PLAINTEXT "
        "or SASL_SSL there, or remove it"
    )

    found = problems(
        ("  - name: acme\n", of_tenant),
        ('username: globex, password_file: "secrets/globex.password"', of_user),
    )

    assert found == [f"proxy.yaml:14: {hint}", f"proxy.yaml:23: {hint}"]


def test_accounts_of_tenants_are_held_to_the_same_rules(folder: Path) -> None:
    text = PROXY_YAML.replace(
        BOOTSTRAP, BOOTSTRAP + f"  security_protocol: SASL_SSL\n  sasl: {{ {SCRAM} }}\n"
    ).replace("  - name: acme\n", "  - name: acme\n    upstream_sasl: { mechanism: PLAIN, username: acme }\n")

    assert problems_of(folder, text) == ["proxy.yaml:16: PLAIN needs password_file: add it"]


def test_a_config_made_in_python_is_held_to_them_too(folder: Path) -> None:
    config = load("proxy.yaml")
    upstream = Upstream(
        bootstrap=[Address("kafka-1", 9092)], sasl=UpstreamSasl(mechanism=UpstreamMechanism.PLAIN)
    )

    with pytest.raises(ValueError, match="the gateway does not authenticate at the brokers"):
        Config(proxy=config.proxy, upstream=upstream, tenants=config.tenants)


@pytest.mark.parametrize(
    "url", ["login.example.com", "ftp://a/", "https://u:p@a/", "http://a:0/", "http://a/#x"]
)
def test_a_token_endpoint_is_an_http_url(folder: Path, url: str) -> None:
    sasl = f'{SASL}    mechanism: OAUTHBEARER\n    token_endpoint_url: "{url}"\n    client_id: x\n'
    (folder / "proxy.yaml").write_text(PROXY_YAML.replace(BOOTSTRAP, sasl))

    with pytest.raises(ConfigError, match=r"proxy.yaml:15: upstream.sasl.token_endpoint_url: "):
        load("proxy.yaml")


def test_what_may_be_a_password_is_never_repeated(folder: Path) -> None:
    sasl = f"{SASL}    mechanism: hunter2\n    hunter3:\n    username: [hunter4]\n"

    found = "\n".join(problems_of(folder, PROXY_YAML.replace(BOOTSTRAP, sasl)))

    assert "hunter" not in found
    assert "upstream.sasl.mechanism: " in found
