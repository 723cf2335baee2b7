"""Reads the files of the admins' bearer tokens: the keys `token_file` of `proxy.control.admins`."""

from collections.abc import Iterator
from pathlib import Path

from bifrost.config.explain import show_loc
from bifrost.config.files.reading import UnreadableError, path_hint, read_regular_file
from bifrost.config.loc import Loc
from bifrost.config.secrets import Secret

MIN_TOKEN_BYTES = 32
"""128 bits where the digits are hexadecimal: an attacker cannot guess it, nor find it from its digest."""

MAX_TOKEN_BYTES = 4096
"""What a header of HTTP has room for; a larger file is a wrong path."""


def read_admin_tokens(data: dict[str, object], folder: Path) -> Iterator[tuple[Loc, str]]:
    """Put the token beside each `token_file`, and yield what is wrong with the files.

    Args:
        data: the configuration as mappings, keys as in the file; it is changed.
        folder: where a relative path starts.
    """
    proxy = data.get("proxy")
    control = proxy.get("control") if isinstance(proxy, dict) else None
    admins = control.get("admins") if isinstance(control, dict) else None
    for index, admin in enumerate(admins if isinstance(admins, list) else ()):
        if not isinstance(admin, dict):
            continue
        at: Loc = ("proxy", "control", "admins", index)
        if "token" in admin:
            yield (
                (*at, "token"),
                f"{show_loc((*at, 'token'))}: write the token into a file, and name it: token_file",
            )
            del admin["token"]
        name = admin.get("token_file")
        if not isinstance(name, str) or not name:
            continue
        path = folder / name
        try:
            admin["token"] = Secret(_read(path))
        except UnreadableError as error:
            loc = (*at, "token_file")
            yield loc, f"{show_loc(loc)}: file of the token {path}: {error}{path_hint(name, path)}"


def _read(path: Path) -> bytes:
    token = read_regular_file(path, MAX_TOKEN_BYTES).strip()
    if len(token) < MIN_TOKEN_BYTES:
        raise UnreadableError(
            f"less than {MIN_TOKEN_BYTES} bytes: write random ones into it, e.g. of openssl rand -hex 32"
        )
    if not all(0x21 <= byte <= 0x7E for byte in token):
        raise UnreadableError("has a space or a character that HTTP has no room for: is it the right file?")
    return token
