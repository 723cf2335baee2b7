import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bifrost.config.fields.journal import Journal
from bifrost.config.fields.state import State
from bifrost.config.fields.virtual_partitions import PartitionIndex
from bifrost.config.files.process_settings import ProcessSettings
from bifrost.config.kept_secret import KeptSecret
from bifrost.config.load import load
from bifrost.config.model import Admin, Config, Proxy
from bifrost.config.quotas.quota_exchange import QuotaExchange
from bifrost.gateway.errors import StartError
from bifrost.gateway.reload.needs_restart import NEEDS_RESTART, PROCESS_NEEDS_RESTART, check_changes
from support.pages.doc_pages import page, spans, table
from unit.cli.conftest import PROXY_YAML

OTHER: dict[str, Any] = {
    "journal": Journal(),
    "partition_index": PartitionIndex(enabled=False),
    "pseudonym_key": KeptSecret(b"another key of 16 bytes"),
    "quota_exchange": QuotaExchange(),
    "state": State(),
    "workers": 2,
}
"""Another value of each."""
TAKEN_OVER = {
    "listener_sets": "a listener set that is new",
    "admin": "`proxy.admin`",
    "watch_files_ms": "`proxy.watch_files_ms`",
    "oauth": "`proxy.oauth`",
    "kerberos": "`proxy.kerberos`",
    "control": "`proxy.control`",
    "limits": "limits",
    "policy": "`proxy.policy`",
}
"""Of each key of `proxy` that can change while the gateway runs: how its row begins in docs/operations.md, or its name
there."""
REMAPPED = """\
listen: {}
kafka: { bootstrap_servers: ["a:9092"] }
mapping: { virtual_partitions: 100, physical_partitions: 10 }
"""


@pytest.fixture
def config(tmp_path: Path) -> Config:
    (tmp_path / "acme.password").write_text("hunter2\n")
    (tmp_path / "proxy.yaml").write_text(PROXY_YAML)
    return load(tmp_path / "proxy.yaml", b"salt")


@pytest.fixture
def changed(config: Config) -> Callable[..., Config]:
    def changed(**settings: Any) -> Config:
        return config.model_copy(update={"proxy": config.proxy.model_copy(update=settings)})

    return changed


@pytest.mark.parametrize("field", NEEDS_RESTART)
def test_a_change_is_refused_by_its_key(config: Config, changed: Callable[..., Config], field: str) -> None:
    with pytest.raises(StartError) as refused:
        check_changes(config, changed(**{field: OTHER[field]}))

    assert str(refused.value) == f"{NEEDS_RESTART[field]} cannot change while the gateway runs: restart it"


def test_all_that_changed_are_named(config: Config, changed: Callable[..., Config]) -> None:
    with pytest.raises(StartError, match=r"^proxy\.journal and proxy\.workers cannot change"):
        check_changes(config, changed(journal=OTHER["journal"], workers=2))


def test_everything_else_can_change(config: Config, changed: Callable[..., Config]) -> None:
    limits = config.proxy.limits.model_copy(update={"max_connections": 7})

    check_changes(config, config)
    check_changes(config, changed(limits=limits, admin=Admin(port=9404), watch_files_ms=7_000))


@pytest.fixture
def remapped(tmp_path: Path) -> Callable[[str], Config]:
    def remapped(more: str) -> Config:
        (tmp_path / "remap.yaml").write_text(REMAPPED + more)
        return load(tmp_path / "remap.yaml", b"salt")

    return remapped


@pytest.mark.parametrize(
    ("logging", "named"),
    [
        ("{ level: debug }", "logging.level"),
        ("{ json: true }", "logging.json (or logging.format)"),
        ("{ format: json }", "logging.json (or logging.format)"),
        ("{ level: warn, json: true }", "logging.level and logging.json (or logging.format)"),
    ],
)
def test_the_log_of_a_partition_remapper_needs_a_restart(
    remapped: Callable[[str], Config], logging: str, named: str
) -> None:
    before, after = remapped("logging: { level: info }\n"), remapped(f"logging: {logging}\n")

    for one, other in ((before, after), (after, before)):
        with pytest.raises(StartError) as refused:
            check_changes(one, other)
        assert str(refused.value) == f"{named} cannot change while the gateway runs: restart it"


def test_what_a_partition_remapper_only_says_otherwise_can_change(remapped: Callable[[str], Config]) -> None:
    least = remapped("")

    check_changes(least, remapped("logging: { level: info, json: true, format: text }\n"))
    check_changes(least, remapped("logging: { json: false }\nmetrics: { enabled: false }\n"))


def test_another_dialect_says_of_the_log_what_the_default_values_say(
    config: Config, changed: Callable[..., Config], remapped: Callable[[str], Config]
) -> None:
    default, loud = remapped("").process, remapped("logging: { level: debug }\n").process
    assert default is not None
    assert loud is not None

    check_changes(config, config.with_process(default))
    with pytest.raises(StartError, match=r"^logging\.level cannot change"):
        check_changes(config.with_process(loud), config)


def test_each_key_of_the_gateway_is_taken_over_or_needs_a_restart() -> None:
    needs = {*NEEDS_RESTART, "pseudonym_key_file"}  # Of the file the content counts.

    assert not needs & TAKEN_OVER.keys()
    assert Proxy.model_fields.keys() == needs | TAKEN_OVER.keys()
    assert Config.model_fields.keys() == {"proxy", "upstream", "upstreams", "tenants"}
    assert set(ProcessSettings._fields) == {*PROCESS_NEEDS_RESTART, "notices"}


def test_the_page_says_of_each_key_what_its_change_affects() -> None:
    rows = [what for what, *_ in table(page("operations.md"), "what changes").rows]

    assert [
        key
        for key, what in TAKEN_OVER.items()
        if not any(row.startswith(what) or ("`" in what and what in row) for row in rows)
    ] == []


def test_the_page_has_the_same_list_and_each_setting_says_it_itself() -> None:
    text = page("operations.md")
    (row,) = [what for what, *does in table(text, "what changes").rows if "restart" in does[0]]
    says_so = set(
        re.findall(
            r"\*\*`(\w+)`\*\*[^\n]*\n(?:(?!\n## )[^*])*?A change needs a restart",
            page("configuration.md"),
        )
    )

    of_process = {
        key for names in PROCESS_NEEDS_RESTART.values() for key in re.findall(r"[\w.]+\.\w+", names)
    }
    assert set(spans(row)) == {*NEEDS_RESTART.values(), *of_process}
    assert NEEDS_RESTART.keys() <= Proxy.model_fields.keys()
    assert says_so == {"workers", "pseudonym_key_file"}
