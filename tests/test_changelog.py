"""CHANGELOG.md is grouped by version, and each version by what breaks, what is new and what is fixed."""

import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]

UNRELEASED = "Unreleased"
RELEASED = re.compile(r"(\d+)\.(\d+)\.(\d+) \(\d{4}-\d{2}-\d{2}\)")
GROUPS = ["Breaking", "New", "Fixed"]


def misfits(text: str, version: str) -> list[str]:
    """Return what of a changelog is not of this form, for a package of a version."""
    head, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    found = [] if head.startswith("# Changelog\n") else ["the first line is not '# Changelog'"]
    names = [section.partition("\n")[0] for section in sections]
    released = [name for name in names if name != UNRELEASED]
    found += [f"{name}: write X.Y.Z (YYYY-MM-DD)" for name in released if not RELEASED.fullmatch(name)]
    if UNRELEASED in names[1:]:
        found.append(f"{UNRELEASED} is not the first")
    if not names or names[0] not in (
        UNRELEASED,
        next((n for n in names if n.startswith(f"{version} (")), ""),
    ):
        found.append(f"the newest version is not {UNRELEASED} or {version}")
    numbers = [tuple(map(int, match.groups())) for match in map(RELEASED.fullmatch, released) if match]
    found += [f"{later} is below {earlier}" for earlier, later in pairwise(numbers) if later >= earlier]
    for name, section in zip(names, sections, strict=True):
        groups = re.findall(r"^#{3,} *(.*)$", section, re.MULTILINE)
        if not groups or groups != [one for one in GROUPS if one in groups]:
            found.append(f"{name}: its groups are {groups}, not some of {GROUPS} in this order")
        entries = re.split(r"^### .*$", section, flags=re.MULTILINE)[1:]
        found += [f"{name}: a group is empty" for one in entries if not one.lstrip().startswith("* ")]
    return found


def test_the_changelog_is_grouped_by_version_and_kind() -> None:
    assert misfits(TEXT, VERSION) == []


NEW = "### New\n\n* One.\n"


@pytest.mark.parametrize(
    ("sections", "wrong"),
    [
        (f"## 1.2.0 (2026-01-02)\n\n{NEW}\n## 1.1.9 (2026-01-01)\n\n{NEW}", []),
        (f"## Unreleased\n\n{NEW}\n## 1.2.0 (2026-01-02)\n\n{NEW}", []),
        (f"## 1.1.0 (2026-01-02)\n\n{NEW}", ["the newest version is not Unreleased or 1.2.0"]),
        ("", ["the newest version is not Unreleased or 1.2.0"]),
        (f"## Unreleased\n\n{NEW}\n## 1.2\n\n{NEW}", ["1.2: write X.Y.Z (YYYY-MM-DD)"]),
        (
            f"## 1.2.0 (2026-01-02)\n\n{NEW}\n## 1.3.0 (2026-01-03)\n\n{NEW}",
            ["(1, 3, 0) is below (1, 2, 0)"],
        ),
        ("## Unreleased\n\n### New\n", ["Unreleased: a group is empty"]),
        (
            f"## Unreleased\n\n{NEW}\n### Breaking\n\n* Two.\n",
            [
                "Unreleased: its groups are ['New', 'Breaking'], not some of ['Breaking', 'New', 'Fixed'] "
                "in this order"
            ],
        ),
    ],
)
def test_another_form_is_named(sections: str, wrong: list[str]) -> None:
    assert misfits(f"# Changelog\n\n{sections}", "1.2.0") == wrong
