import os
from copy import deepcopy
from pathlib import Path

from bifrost.config.files.watched_files import files_of, signature
from bifrost.config.model import Config
from unit.gateway.test_gateway import CONFIG


def test_every_file_that_a_configuration_names_is_found() -> None:
    data = deepcopy(CONFIG)
    for number, tenant in enumerate(data["tenants"]):
        for user in tenant["auth"]["credentials"]:
            user["password_file"] = f"secrets/{number}.password"

    assert set(files_of(Config.model_validate(data))) == {"secrets/0.password", "secrets/1.password"}


def test_it_changes_with_the_file_and_with_what_it_names(tmp_path: Path) -> None:
    path, named = tmp_path / "proxy.yaml", [str(tmp_path / "a"), str(tmp_path / "b"), "/nowhere/c"]
    seen = [signature(path, named)]
    for name in ("proxy.yaml", "a", "b"):
        (tmp_path / name).write_text("one")
        seen.append(signature(path, named))
    (tmp_path / "a").write_text("other, longer")
    seen.append(signature(path, named))
    os.remove(tmp_path / "b")
    seen.append(signature(path, named))

    assert len(set(seen)) == len(seen)
    assert signature(path, named) == seen[-1]


def test_a_folder_changes_with_its_files(tmp_path: Path) -> None:
    before = signature(tmp_path, ())
    (tmp_path / "one.yaml").write_text("one")
    with_one = signature(tmp_path, ())

    assert before != with_one == signature(tmp_path, ())


def test_a_link_changes_with_what_it_leads_to(tmp_path: Path) -> None:
    for day in ("monday", "tuesday"):
        (tmp_path / day).mkdir()
        (tmp_path / day / "password").write_text(day)
    (tmp_path / "today").symlink_to("monday")
    named = [str(tmp_path / "today/password")]
    before = signature(tmp_path / "x", named)
    (tmp_path / "next").symlink_to("tuesday")
    os.replace(tmp_path / "next", tmp_path / "today")

    assert signature(tmp_path / "x", named) != before
