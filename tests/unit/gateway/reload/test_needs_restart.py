import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bifrost.config.fields.journal import Journal
from bifrost.config.fields.state import State
from bifrost.config.fields.virtual_partitions import PartitionIndex
from bifrost.config.kept_secret import KeptSecret
from bifrost.config.load import load
from bifrost.config.model import Admin, Config, Proxy
from bifrost.config.quotas.quota_exchange import QuotaExchange
from bifrost.gateway.errors import StartError
from bifrost.gateway.reload.needs_restart import NEEDS_RESTART, check_changes
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


def test_the_page_has_the_same_list_and_each_setting_says_it_itself() -> None:
    text = page("operations.md")
    (row,) = [what for what, *does in table(text, "what changes").rows if "restart" in does[0]]
    says_so = set(
        re.findall(
            r"\*\*`(\w+)`\*\*[^\n]*\n(?:(?!\n## )[^*])*?A change needs a restart",
            page("configuration.md"),
        )
    )

    assert set(spans(row)) == set(NEEDS_RESTART.values())
    assert NEEDS_RESTART.keys() <= Proxy.model_fields.keys()
    assert says_so == {"workers", "pseudonym_key_file"}
