"""Reads the files that a configuration names, up to a size limit, with messages for the operator on failure."""

import stat
from pathlib import Path


class UnreadableError(Exception):
    """Why a file cannot be read, in words for the operator."""


def read_file(path: Path, max_bytes: int) -> bytes:
    """Return a file's content.

    Raises:
        UnreadableError: there is none, it may not be read, or it is larger than `max_bytes`.
    """
    try:
        with path.open("rb") as file:
            content = file.read(max_bytes + 1)
    except FileNotFoundError:
        raise UnreadableError("no such file") from None
    except IsADirectoryError:
        raise UnreadableError("a directory, not a file") from None
    except PermissionError:
        raise UnreadableError("may not be read by this user: change its owner or mode") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a path"
        raise UnreadableError(f"cannot be read ({reason})") from None
    if len(content) > max_bytes:
        raise UnreadableError(f"larger than {max_bytes} bytes: is it the right file?")
    return content


def read_regular_file(path: Path, max_bytes: int) -> bytes:
    """Return a file's content; never open a pipe, a socket or a device.

    Raises:
        UnreadableError: as `read_file`, or it is not a regular file.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        mode = stat.S_IFREG  # opening it says what is wrong
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        # Opening a pipe would wait for a writer that may never come.
        raise UnreadableError("not a regular file")
    return read_file(path, max_bytes)


def path_hint(name: str, path: Path) -> str:
    """Return what to add to an error about a file that was given as `name` and looked for at `path`."""
    is_here = Path(name).is_absolute() or path.exists()
    return "" if is_here else "; a relative path starts at the folder of this file"
