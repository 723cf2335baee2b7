import re
from pathlib import Path

import pytest

from bifrost.config.files.exposed_files import SECRET_FILES, exposed_files
from bifrost.config.load import load
from bifrost.config.section import Section
from support.pages.doc_pages import page

YAML = """\
proxy:
  listener_sets:
    - name: plaintext
      port_range:
        advertised_host: proxy.example.com
        bootstrap_port: 9092
        broker_port_range: { start: 9093, end: 9095 }
upstream:
  bootstrap: ["kafka-1.internal:9092"]
  security_protocol: SASL_PLAINTEXT
  sasl: { mechanism: PLAIN, username: u, password_file: up }
tenants:
  - name: acme
    auth: { credentials: [{ username: acme, password_file: linked }, { username: b, password_file: own }] }
"""


@pytest.mark.parametrize(
    ("mode", "is_exposed"),
    [(0o600, False), (0o640, False), (0o660, False), (0o644, True), (0o602, True), (0o601, False)],
)
def test_only_what_others_can_read_or_change_is_exposed(tmp_path: Path, mode: int, is_exposed: bool) -> None:
    (tmp_path / "proxy.yaml").write_text(YAML)
    for name in ("up", "target", "own"):
        (tmp_path / name).write_text("hunter2")
        (tmp_path / name).chmod(0o600)
    (tmp_path / "linked").symlink_to("target")
    config = load(tmp_path / "proxy.yaml", b"salt")

    assert exposed_files(config, tmp_path) == []
    for name in ("up", "target"):
        (tmp_path / name).chmod(mode)

    assert exposed_files(config, tmp_path) == [
        str(tmp_path / name) for name in ("linked", "up") if is_exposed
    ]


def test_a_file_that_is_gone_is_not_exposed(tmp_path: Path) -> None:
    class One(Section):
        password_file: str = "gone"

    assert exposed_files(One(), tmp_path) == []


def test_every_file_of_the_configuration_is_a_secret_or_is_known_to_be_none() -> None:
    named = set(re.findall(r"\*\*`([a-z_]+_file)`\*\*", page("configuration.md")))
    public = {
        "ca_file",
        "certificate_file",
        "client_ca_file",
        "client_crl_file",
        "jwks_file",
        "registry_ca_file",
        "sealing_key_file",
        "token_endpoint_ca_file",
        "transform_file",
    }

    assert named == SECRET_FILES | public
