"""Key files of tests, and filters that seal with them."""

import base64
import os
from pathlib import Path
from typing import Any


def write_key_file(path: Path, *names: str) -> Path:
    """Write a key file with a random KEK of version 1 for each name."""
    path.write_text("".join(_line(name, 1) for name in names))
    path.chmod(0o600)
    return path


def rotate(path: Path, name: str, version: int) -> None:
    """Add a version of a KEK."""
    replace(path, path.read_text() + _line(name, version))


def replace(path: Path, content: str) -> None:
    """Replace a key file in one step."""
    new = path.with_suffix(".new")
    new.write_text(content)
    new.chmod(0o600)
    new.replace(path)


def _line(name: str, version: int) -> str:
    return f"{name} {version} {base64.b64encode(os.urandom(32)).decode()}\n"


def encryption(
    path: Path, *topics: str, key: str = "payments", label: str | None = None, **config: Any
) -> Any:
    """Return a filter of the configuration that seals these topics."""
    named = {} if label is None else {"label": label}
    return named | {
        "name": "EnvelopeEncryption",
        "config": {"kms_provider": "KeyFile", "key_id": key, "key_file": str(path)} | config,
        "rules": [{"topics": list(topics)}],
    }
