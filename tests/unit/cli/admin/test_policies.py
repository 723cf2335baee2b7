import json
from pathlib import Path

import pytest

from unit.cli.admin.conftest import Run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "policy.yaml"
    found.write_text("topic_names: ['orders*']\nmax_topics: 5\n")
    return found


def test_a_policy_is_set_shown_and_deleted(run: Run, file: Path) -> None:
    policy = ("namespaces", "policy")

    assert run(*policy, "set", "acme", "--file", str(file), "--dry-run") == (
        0,
        "would set the policy of acme\n",
        "",
    )
    assert run(*policy, "show", "acme") == (0, "", "")
    assert run(*policy, "set", "acme", "--file", str(file)) == (0, "set the policy of acme\n", "")
    assert run(*policy, "show", "acme") == (
        0,
        'state\ttopic_names\t["orders*"]\nstate\tmax_topics\t5\n',
        "",
    )
    status, output, _ = run(*policy, "delete", "acme", "--json")
    assert (status, json.loads(output)["policy"]) == (0, None)


@pytest.mark.parametrize("text", ["a: [", "\x00"])
def test_a_file_that_cannot_be_read_is_status_2(run: Run, file: Path, text: str) -> None:
    file.write_text(text)

    status, output, errors = run("namespaces", "policy", "set", "acme", "--file", str(file))

    assert (status, output) == (2, "")
    assert "cannot be read" in errors


def test_what_the_api_refuses_is_status_1(run: Run, file: Path) -> None:
    file.write_text("topics: 3\n")

    status, _, errors = run("namespaces", "policy", "set", "acme", "--file", str(file))

    assert status == 1
    assert "topics" in errors
