from pathlib import Path

import pytest

from bifrost.config.errors import ConfigError
from bifrost.config.source_files import MAX_FILE_BYTES, MAX_FILES, MAX_FOLDER_BYTES, read_source
from support.journal.loading import load
from unit.config.conftest import PROXY_YAML, problems_of
from unit.config.virtual_cluster_files import AUTH, GATEWAY, PROD, second


@pytest.fixture
def clusters(folder: Path) -> Path:
    """A folder of virtual clusters, two in one file, and of what is not read."""
    there = folder / "clusters"
    there.mkdir()
    third = PROD.replace("tenant-a-prod", "tenant-c").replace("t1-", "t3-").replace("9093", "9293")
    (there / "20-two.yml").write_text(f"{second()}---\n{third}")
    (there / "10-one.yaml").write_text(PROD + AUTH.replace("secrets/", "../secrets/"))
    (there / "README.md").write_text("no YAML: [")
    (there / ".10-one.yaml.swp").write_text("an editor's: [")
    (there / ".hidden.yaml").write_text("an editor's: [")
    (there / "below").mkdir()
    (there / "below/30-three.yaml").write_text("not read: [")
    return there


def mistakes(path: Path | str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(path)
    return str(caught.value).splitlines()


def test_a_folder_is_read_in_the_order_of_names_and_nothing_else_in_it(clusters: Path) -> None:
    config = load(clusters)

    assert [tenant.name for tenant in config.tenants] == ["tenant-a-prod", "tenant-b", "tenant-c"]


def test_relative_paths_start_at_the_folder(clusters: Path) -> None:
    [(_, user)] = load(clusters).credentials()

    assert user.password.matches(b"wile-e")


def test_the_files_of_a_mounted_config_map_are_read_once(clusters: Path) -> None:
    # Kubernetes mounts links through a hidden folder, which it exchanges as a whole.
    kept = clusters / "..2026_11_21"
    kept.mkdir()
    (clusters / "10-one.yaml").rename(kept / "10-one.yaml")
    (clusters / "..data").symlink_to(kept)
    (clusters / "10-one.yaml").symlink_to("..data/10-one.yaml")

    assert len(load(clusters).tenants) == 3


def test_mistakes_have_the_line_of_their_own_file(clusters: Path) -> None:
    path = clusters / "20-two.yml"
    path.write_text(path.read_text().replace("9193", "0").replace("9293", "9093").replace("t3-", "t1-"))

    told = mistakes("clusters")

    assert told[0] == "clusters/20-two.yml:9: spec.listener.port: must be at least 1, found the number 0"
    assert told[1].startswith(
        "clusters/20-two.yml:30: port 9093 is taken twice, by port of tenant-c and by port of "
    )
    assert "(see clusters/10-one.yaml:9)" in told[1]
    assert told[-1].startswith(
        "clusters/20-two.yml:39: topic prefixes t1- of tenant-a-prod and t1- of tenant-c overlap"
    )
    assert told[-1].endswith("(see clusters/10-one.yaml:18)")


def test_what_is_no_yaml_is_told_of_every_file(clusters: Path) -> None:
    for name in ("10-one.yaml", "20-two.yml"):
        (clusters / name).write_text("a: 1\nb: c: d\n")
    (clusters / "30-three.yaml").write_bytes(b"a: 1\nb: \xff\n")
    (clusters / "40-four.yaml").mkdir()

    told = mistakes("clusters")

    assert [line.partition(": ")[0] for line in told] == [
        "clusters/10-one.yaml:2",
        "clusters/20-two.yml:2",
        "clusters/30-three.yaml:2",
        "clusters/40-four.yaml",
    ]
    assert told[2].endswith("not UTF-8: save the file in that encoding")
    assert told[3].endswith("a directory, not a file")


def test_the_settings_of_the_gateway_may_be_a_file_beside_the_others(clusters: Path) -> None:
    (clusters / "00-gateway.yaml").write_text(GATEWAY)

    assert load(clusters).proxy.limits.max_connections == 7


def test_one_file_of_the_flat_dialect_may_stand_in_a_folder(folder: Path) -> None:
    assert load(folder) == load(folder / "proxy.yaml")


def test_a_second_document_of_the_flat_dialect_is_refused(folder: Path) -> None:
    lines = len(PROXY_YAML.splitlines())
    expected = (
        "a second document, the first is in proxy.yaml: keep one, and remove the line --- if it is there"
    )

    assert problems_of(folder, f"{PROXY_YAML}---\n{PROXY_YAML}") == [f"proxy.yaml:{lines + 2}: {expected}"]

    (folder / "proxy.yaml").write_text(PROXY_YAML)
    (folder / "second.yaml").write_text(PROXY_YAML)
    assert mistakes(".") == [f"second.yaml:1: {expected}"]


def test_the_two_dialects_are_not_mixed(clusters: Path) -> None:
    (clusters / "proxy.yaml").write_text(PROXY_YAML)

    assert mistakes("clusters") == [
        "clusters/proxy.yaml:1: a document without apiVersion and kind, beside others that have them: "
        "add the two, or remove it"
    ]


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n---\n"])
def test_a_file_that_says_nothing_is_empty(folder: Path, text: str) -> None:
    [told] = problems_of(folder, text)

    assert told.endswith("the file is empty: write the sections proxy, upstream and tenants")


def test_documents_that_say_nothing_are_passed_over(folder: Path) -> None:
    text = f"---\n---\n{PROXY_YAML}---\n# nothing\n---\n"
    (folder / "empty.yaml").write_text("")
    (folder / "proxy.yaml").write_text(text)

    assert len(load("proxy.yaml").tenants) == len(load(".").tenants) == 2


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")

    assert mistakes(tmp_path) == [f"{tmp_path}: a folder without a .yaml or .yml file"]


def test_a_folder_that_may_not_be_listed_is_refused(clusters: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)  # the tests may run as root, whom no mode stops

    assert mistakes("clusters") == ["clusters: cannot be listed (Permission denied)"]


def test_a_folder_is_bounded_in_files_and_bytes(clusters: Path) -> None:
    big = "#" * (MAX_FILE_BYTES - 1)
    for index in range(MAX_FOLDER_BYTES // MAX_FILE_BYTES + 2):
        (clusters / f"{50 + index}.yaml").write_text(big)

    assert mistakes("clusters") == [
        f"clusters/57.yaml: the files of the folder up to here have more than {MAX_FOLDER_BYTES} bytes together"
    ]

    for index in range(MAX_FILES):
        (clusters / f"{index}.yml").write_text("")
    assert mistakes("clusters")[0].startswith("clusters: a folder with ")


def test_lines_count_from_the_start_of_the_file(clusters: Path) -> None:
    source = read_source(clusters / "20-two.yml")

    assert source.place_of(("tenants", 0, "name")) == (str(clusters / "20-two.yml"), 4)
    assert source.place_of(("tenants", 1, "name")) == (str(clusters / "20-two.yml"), 25)
    assert source.folder == clusters
