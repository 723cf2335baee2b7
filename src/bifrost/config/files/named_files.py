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
)
"""The places of their keys, and what each file is."""


def find_files(data: dict[str, object], folder: Path) -> Iterator[tuple[Loc, str, Path]]:
    """Make the paths of these files absolute, and yield for each its place, what it is and its path.

    Args:
        data: the configuration as mappings, keys as in the file; it is changed.
        folder: where a relative path starts.
    """
    for loc, what in FILES:
        section: object = data
        for step in loc[:-1]:
            section = section.get(step) if isinstance(section, dict) else None
        name = section.get(loc[-1]) if isinstance(section, dict) else None
        if isinstance(section, dict) and isinstance(name, str) and name:
            path = (folder / name).absolute()
            section[loc[-1]] = str(path)
            yield loc, what, path
