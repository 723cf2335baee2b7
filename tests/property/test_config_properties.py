"""A damaged configuration is refused with lines of the file, or loads; nothing else, and a password is never told."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bifrost.config.errors import ConfigError
from bifrost.config.model import Config
from support.journal.loading import load

EXAMPLE = (Path(__file__).resolve().parents[2] / "examples" / "proxy.yaml").read_text(encoding="utf-8")
PASSWORD = "correct-horse-battery"

# What YAML gives a meaning to, and what breaks it.
FRAGMENTS = st.sampled_from(
    [
        "~",
        "[]",
        "{}",
        "&a ",
        "*a",
        "<<: *a",
        "<<",
        "- ",
        "? ",
        ": ",
        "|\n",
        "---\n",
        "{a: {b: ",
        "[[[",
        "'",
        '"',
        "-1",
        "1e999",
        ".nan",
        "true",
        "2026-01-01",
        "!!int ",
        "!x ",
        "%",
        "@",
        "\t",
        "\n",
        "\u2028",
        "\x85",
        "\0",
    ]
)
EDITS = st.lists(
    st.tuples(st.integers(0, len(EXAMPLE)), st.integers(0, 30), FRAGMENTS | st.text(max_size=5)),
    min_size=1,
    max_size=5,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("config")
    (folder / "secrets").mkdir()
    for tenant in ("acme", "globex"):
        (folder / "secrets" / f"{tenant}.password").write_text(PASSWORD)
    return folder


def outcome(path: Path) -> Config | ConfigError:
    try:
        return load(path)
    except ConfigError as error:
        return error


@settings(max_examples=max(100, settings().max_examples))
@given(edits=EDITS)
def test_a_damaged_file_is_refused_with_its_lines_or_loads(
    folder: Path, edits: list[tuple[int, int, str]]
) -> None:
    text = EXAMPLE
    for position, length, fragment in edits:
        text = text[:position] + fragment + text[position + length :]
    path = folder / "proxy.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))

    found = outcome(path)

    assert PASSWORD not in f"{found} {found!r}"
    if isinstance(found, ConfigError):
        assert found.problems
        for problem in found.problems:
            assert problem.line is not None
            assert 1 <= problem.line <= len(text.splitlines()) + 1
            assert str(problem).isprintable()
