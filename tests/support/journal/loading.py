"""Loads configurations as one process does: with one key for the salts of derived verifiers."""

from __future__ import annotations

from pathlib import Path

from bifrost.config import load as loader
from bifrost.config.model import Config

SALT_KEY = b"the key of one process of tests."


def load(path: str | Path, salt_key: bytes = SALT_KEY) -> Config:
    """Read a configuration.

    Raises:
        ConfigError: it is wrong.
    """
    return loader.load(path, salt_key)
