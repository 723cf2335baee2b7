from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from bifrost.config.fields.kerberos import Kerberos
from support.journal.loading import load
from unit.config.conftest import PROXY_YAML, problems_of

GOOD: dict[str, Any] = {"keytab_file": "kafka.keytab", "realm": "EXAMPLE.COM"}


def test_a_keytab_and_a_realm_are_enough() -> None:
    kerberos = Kerberos.model_validate(GOOD)

    assert (kerberos.service_name, kerberos.hostname, kerberos.replay_cache) == ("kafka", None, None)
    assert kerberos.principal_to_local_rules == ("DEFAULT",)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"realm": "A@B"}, "has characters other than"),
        ({"service_name": "kafka/host"}, "has characters other than"),
        ({"hostname": "host:9092"}, "is no host name"),
        ({"principal_to_local_rules": []}, "at least 1"),
        ({"principal_to_local_rules": ["RULE:[1:$1"]}, "is no rule"),
        ({"principal_to_local_rules": ["DEFAULT", "RULE:[1:$1]s/(?i)a/b/"]}, "no pattern that is understood"),
    ],
)
def test_what_is_wrong_is_refused(changed: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValidationError, match=expected):
        Kerberos.model_validate({**GOOD, **changed})


def test_a_keytab_that_is_not_there_is_told_with_its_line(folder: Path) -> None:
    text = PROXY_YAML.replace(
        "upstream:", "  kerberos:\n    realm: EXAMPLE.COM\n    keytab_file: a.keytab\nupstream:"
    )

    assert problems_of(folder, text) == [
        f"proxy.yaml:12: proxy.kerberos.keytab_file: keytab {folder}/a.keytab: no such file"
    ]
    (folder / "a.keytab").write_bytes(b"")
    kerberos = load("proxy.yaml").proxy.kerberos
    assert kerberos is not None
    assert kerberos.keytab_file == f"{folder}/a.keytab"
