"""The files of the project, for tests that read the code itself."""

import subprocess
from pathlib import Path

import pytest

from support.skips.optional_parts import CHECKOUT, lacks

ROOT = Path(__file__).resolve().parents[3]
SOURCE, UNIT = ROOT / "src/bifrost", ROOT / "tests/unit"


def committed() -> list[Path]:
    """Every file of the project that is text."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip(lacks(CHECKOUT))
    names = [name for name in listed.stdout.decode().split("\0") if name]
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def modules() -> list[str]:
    """Every module, by its path in the package."""
    return sorted(
        str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if path.name != "__init__.py"
    )


def cython_sources() -> list[Path]:
    """Every Cython file that the package is built from."""
    return [path for path in sorted(SOURCE.rglob("*")) if path.suffix in (".pyx", ".pxd")]
