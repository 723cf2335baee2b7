"""Finds the files of secrets that every user of the machine can read or change."""

import stat
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

SECRET_FILES = frozenset(
    {
        "client_secret_file",
        "hash_key_file",
        "key_file",
        "key_password_file",
        "keytab_file",
        "password_file",
        "pseudonym_key_file",
        "scram_file",
        "registry_password_file",
        "registry_token_file",
        "token_file",
    }
)
"""Keys of files that hold a secret; other files (certificates, public keys) are for everybody."""

REMEDY = "chmod o-rwx them, or in Kubernetes give the Secret's volume defaultMode 0440 and the pod an fsGroup"


def exposed_files(config: BaseModel, folder: Path) -> list[str]:
    """Return the paths of the secret files that others than the owner and the group can read or change, sorted.

    A link counts as its target: the links of a mounted Kubernetes secret always have mode 0777.

    Args:
        config: a configuration, or a section of one.
        folder: where a relative path starts.
    """
    paths = {str(folder / name) for name in _secret_files(config)}
    return sorted(path for path in paths if _is_exposed(Path(path)))


def _secret_files(section: BaseModel) -> Iterator[str]:
    for key, value in section:
        if key in SECRET_FILES and isinstance(value, str):
            yield value
        for inner in value if isinstance(value, tuple) else (value,):
            if isinstance(inner, BaseModel):
                yield from _secret_files(inner)


def _is_exposed(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & (stat.S_IROTH | stat.S_IWOTH))
    except OSError:
        return False  # It has gone since it was read.
