"""What the loader says of listener sets and their files, with lines."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.identity.certificates import Authority
from support.journal.loading import load
from unit.config.conftest import PROXY_YAML

Problems = Callable[..., list[str]]
BASE = "        broker_id_base: 1\n"
AT = "proxy.listener_sets[0]"


@pytest.fixture
def certificates(folder: Path) -> Authority:
    """A CA, and the files of a server and of the CA beside the configuration."""
    authority = Authority("CA")
    authority.server("proxy.example.com").write(folder / "tls", "gateway")
    authority.write(folder / "tls/ca.pem")
    return authority


def listener(*lines: str) -> tuple[str, str]:
    """The change that adds lines to the listener set; the first is line 10."""
    return BASE, BASE + "".join(f"      {line}\n" for line in lines)


TLS = ("tls:", "  certificate_file: tls/gateway.pem", "  key_file: tls/gateway.key")
CA = "  client_ca_file: tls/ca.pem"


def test_paths_are_absolute_so_that_they_can_be_read_again(folder: Path, certificates: Authority) -> None:
    old, new = listener("security_protocol: SASL_SSL", *TLS)
    (folder / "proxy.yaml").write_text(PROXY_YAML.replace(old, new))

    tls = load("proxy.yaml").proxy.listener_sets[0].tls

    assert tls is not None
    assert tls.certificate_file == str(folder / "tls/gateway.pem")
    assert tls.key_file == str(folder / "tls/gateway.key")


@pytest.mark.usefixtures("certificates")
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            ["security_protocol: SSL"],
            [f"3: {AT}: SSL needs certificates: add the section tls"],
        ),
        (
            [*TLS],
            [
                f"3: {AT}: SASL_PLAINTEXT is not encrypted, so tls is of no use: set security_protocol to SASL_SSL, "
                "or remove tls"
            ],
        ),
        (
            ["security_protocol: PLAINTEXT"],
            [
                f"3: {AT}: PLAINTEXT does not ask who a client is: name the tenant that all clients are (tenant)"
            ],
        ),
        (
            ["security_protocol: PLAINTEXT", "tenant: acme", "sasl_mechanisms: [PLAIN]"],
            [f"3: {AT}: PLAINTEXT has no SASL: remove sasl_mechanisms, or set security_protocol"],
        ),
        (
            ["security_protocol: PLAINTEXT", "tenant: unknown"],
            ["11: there is no tenant unknown: write one of acme, globex, or add it to tenants"],
        ),
        (
            ["security_protocol: SSL", *TLS],
            [
                f"3: {AT}: with SSL the certificate says who a client is: set tls.client_auth to required, or name "
                "the tenant that all clients are (tenant)"
            ],
        ),
        (
            [
                "security_protocol: SASL_SSL",
                *TLS,
                CA,
                "  client_auth: required",
                "  principal_mapping_rules: DEFAULT",
            ],
            [
                f"3: {AT}: with SASL_SSL it is SASL that says who a client is: remove tls.principal_mapping_rules"
            ],
        ),
        (
            ["security_protocol: SASL_SSL", *TLS, "  client_auth: required"],
            [f"11: {AT}.tls: client_auth required trusts no certificate without client_ca_file: add it"],
        ),
        (
            ["security_protocol: SASL_SSL", *TLS[:2], "  key_file: tls/absent.key"],
            [
                f"13: {AT}.tls.key_file: file {{folder}}/tls/absent.key: no such file; a relative path starts at the "
                "folder of this file"
            ],
        ),
        (
            ["security_protocol: SASL_SSL", *TLS[:2], "  key_file:"],
            [f"13: {AT}.tls.key_file has no value: write one, or remove the line"],
        ),
        (["proxy_protocol: off"], []),
        (
            ["proxy_protocol: true"],
            [
                f"10: {AT}.proxy_protocol: expected off, allowed or required, found the truth value true "
                "(YAML reads yes, no, on and off as one)"
            ],
        ),
        (
            ["security_protocol: plaintext"],
            [
                f"10: {AT}.security_protocol: expected PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL, "
                "found the text 'plaintext'",
            ],
        ),
    ],
)
def test_what_is_wrong_has_its_line(
    folder: Path, problems: Problems, lines: list[str], expected: list[str]
) -> None:
    change = listener(*lines)
    if not expected:
        (folder / "proxy.yaml").write_text(PROXY_YAML.replace(*change))
        assert load("proxy.yaml").proxy.listener_sets[0].proxy_protocol == "off"
        return

    assert problems(change) == [f"proxy.yaml:{line}".format(folder=folder) for line in expected]


@pytest.mark.usefixtures("certificates")
def test_a_key_of_another_certificate_is_found_before_anything_is_served(
    folder: Path, problems: Problems
) -> None:
    (folder / "tls/gateway.key").write_bytes(Authority("other").server("x").key_pem())

    [problem] = problems(listener("security_protocol: SASL_SSL", *TLS))

    assert problem.startswith(f"proxy.yaml:13: {AT}.tls.key_file: the key")
    assert "is not that of the first certificate" in problem
