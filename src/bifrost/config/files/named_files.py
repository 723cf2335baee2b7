"""Files that the configuration names and that are read later, by who needs them: keys, certificates.

Their paths become absolute here, and whether they can be read is said with the configuration's other mistakes, not when
the first client comes.
"""

from collections.abc import Iterator
from pathlib import Path

from bifrost.config.loc import Loc

FILES: tuple[tuple[Loc, str], ...] = (
    (("proxy", "oauth", "jwks_file"), "file of keys"),
    (("proxy", "oauth", "ca_file"), "file of certificates"),
    (("proxy", "kerberos", "keytab_file"), "keytab"),
)
"""Where they stand, and what they are."""


def find_files(data: dict[str, object], folder: Path) -> Iterator[tuple[Loc, str, Path]]:
    """Make the paths of these files absolute, and yield where each stands, what it is and its path.

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
