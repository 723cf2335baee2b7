import json
from pathlib import Path
from typing import Any

import pytest

from bifrost.cli.admin.quota_file import QuotaFileError, read_quota_file

ONE = {"namespace": "acme", "entity": {"user": "bob"}, "values": {"producer_byte_rate": 1}, "because": "why"}


def test_alterations_are_read_by_namespace(tmp_path: Path) -> None:
    file = tmp_path / "quotas.json"
    other = ONE | {"namespace": "acme:eu", "entity": {"user": None, "client-id": "x"}, "values": {"a": None}}
    file.write_text(json.dumps({"quotas_format": 1, "alterations": [ONE, other, ONE], "unkept": []}))

    bob = {"entity": {"user": "bob"}, "values": {"producer_byte_rate": 1}}
    assert read_quota_file(file) == {
        "acme": [bob, bob],
        "acme:eu": [{"entity": {"user": None, "client-id": "x"}, "values": {"a": None}}],
    }


@pytest.mark.parametrize(
    ("document", "word"),
    [
        ([], "quotas_format is None, and has to be 1"),
        ({"quotas_format": 2, "alterations": []}, "quotas_format is 2, and has to be 1"),
        ({"quotas_format": 1}, "alterations is no list"),
        ({"quotas_format": 1, "alterations": [{}]}, "alterations[0]: names no namespace"),
        ({"quotas_format": 1, "alterations": [ONE, ONE | {"entity": "bob"}]}, "alterations[1]: entity"),
        ({"quotas_format": 1, "alterations": [ONE | {"entity": {"user": 1}}]}, "alterations[0]: entity"),
        ({"quotas_format": 1, "alterations": [ONE | {"values": {"a": "1"}}]}, "alterations[0]: values"),
        ({"quotas_format": 1, "alterations": [ONE | {"values": {"a": True}}]}, "alterations[0]: values"),
    ],
)
def test_what_is_no_file_of_quotas_is_refused_with_the_place(
    tmp_path: Path, document: Any, word: str
) -> None:
    file = tmp_path / "quotas.json"
    file.write_text(json.dumps(document))

    with pytest.raises(QuotaFileError) as caught:
        read_quota_file(file)

    assert word in str(caught.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(QuotaFileError, match="No such file"):
        read_quota_file(tmp_path / "none.json")
    (tmp_path / "text").write_text("no json")
    with pytest.raises(QuotaFileError, match="is no JSON"):
        read_quota_file(tmp_path / "text")
