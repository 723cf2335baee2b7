"""A configuration as a user writes it, and what the loader says of a changed one."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bifrost.config.errors import ConfigError
from support.journal.loading import load

# The line numbers that the tests expect count from the line after the quotes.
PROXY_YAML = """\
proxy:
  listener_sets:
    - name: plaintext
      port_range:
        bind_host: "0.0.0.0"
        advertised_host: "proxy.example.com"
        bootstrap_port: 9092
        broker_port_range: { start: 9093, end: 9095 }
        broker_id_base: 1
upstream:
  bootstrap: ["kafka-1.internal:9092", "kafka-2.internal:9092", "kafka-3.internal:9092"]
tenants:
  - name: acme
    allowed_topics: [orders, billing, events, audit.log]
    auth:
      credentials:
        - { username: acme, password_file: "secrets/acme.password" }
  - name: globex
    allowed_topics: [orders, users]
    auth:
      credentials:
        - { username: globex, password_file: "secrets/globex.password" }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with `proxy.yaml` and its two password files."""
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/acme.password").write_text("wile-e\n")
    (tmp_path / "secrets/globex.password").write_text("hank-scorpio")
    (tmp_path / "proxy.yaml").write_text(PROXY_YAML)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def problems(folder: Path) -> Callable[..., list[str]]:
    """What is wrong with the file once each text is replaced by the other, as printed lines."""

    def problems(*replacements: tuple[str, str]) -> list[str]:
        text = PROXY_YAML
        for old, new in replacements:
            assert text.count(old) >= 1, f"{old!r} is not in the file"
            text = text.replace(old, new, 1)
        return problems_of(folder, text)

    return problems


def problems_of(folder: Path, text: str | bytes) -> list[str]:
    """What is wrong with `text` as the configuration, as printed lines."""
    (folder / "proxy.yaml").write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ConfigError) as caught:
        load("proxy.yaml")
    assert str(caught.value) == "\n".join(map(str, caught.value.problems))
    assert caught.value.__cause__ is None  # nothing behind it that could print a value
    return [str(problem) for problem in caught.value.problems]
