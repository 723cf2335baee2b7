"""Files that the configuration names and that other code reads later: keys, certificates.

Their paths become absolute here, and a file that cannot be read is reported with the configuration's other mistakes,
not when the first client connects.
"""

from collections.abc import Iterator
from pathlib import Path

from bifrost.config.loc import Loc

FILES: tuple[tuple[Loc, str], ...] = (
    (("proxy", "oauth", "jwks_file"), "file of keys"),
    (("proxy", "oauth", "ca_file"), "file of certificates"),
    (("proxy", "kerberos", "keytab_file"), "keytab"),
    (("tenants", "*", "filters", "*", "config", "key_file"), "file of keys"),
    (("tenants", "*", "filters", "*", "config", "vault", "token_file"), "file of a token"),
    (("tenants", "*", "filters", "*", "config", "vault", "ca_file"), "file of certificates"),
    (("tenants", "*", "filters", "*", "config", "registry_password_file"), "file of a password"),
    (("tenants", "*", "filters", "*", "config", "registry_token_file"), "file of a token"),
    (("tenants", "*", "filters", "*", "config", "registry_ca_file"), "file of certificates"),
)
"""The places of their keys, `*` for each element of a list, and what each file is."""


def find_files(data: dict[str, object], folder: Path) -> Iterator[tuple[Loc, str, Path]]:
    """Make the paths of these files absolute, and yield for each its place, what it is and its path.

    Args:
        data: the configuration as mappings, keys as in the file; it is changed.
        folder: where a relative path starts.
    """
    for pattern, what in FILES:
        for loc, section in _sections(data, pattern[:-1], ()):
            key = pattern[-1]
            name = section.get(key)
            if isinstance(name, str) and name:
                path = (folder / name).absolute()
                section[key] = str(path)
                yield (*loc, key), what, path


def _sections(value: object, steps: Loc, at: Loc) -> Iterator[tuple[Loc, dict[object, object]]]:
    """Yield the sections below a value, each with its place."""
    if not steps:
        if isinstance(value, dict):
            yield at, value
    elif steps[0] == "*":
        for index, element in enumerate(value if isinstance(value, list) else ()):
            yield from _sections(element, steps[1:], (*at, index))
    elif isinstance(value, dict):
        yield from _sections(value.get(steps[0]), steps[1:], (*at, steps[0]))
