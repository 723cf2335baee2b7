"""Write a lock file: ask `jgo` which jars a set of coordinates needs, download them, note their sums.

    python -m bifrost.jars.lock [--without group:artifact ...] group:artifact:version ...

A development tool; its counterpart `locked_jars.py` reads the lock files. The jars are downloaded from the repository
into a temporary directory and never come from a cache, so a lock never contains what another program left there.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bifrost.jars.locked_jars import LOCKS, REPOSITORY_VARIABLE, LockedJar, lock_name


def lock_jars(coordinates: Sequence[str], *, without: Sequence[str] = ()) -> list[LockedJar]:
    """Resolve `coordinates` with their runtime dependencies and hash every jar.

    Args:
        coordinates: `group:artifact:version`.
        without: `group:artifact` of dependencies to leave out together with what only they need.
    Returns:
        The jars of `coordinates` first, then the others by coordinate.
    """
    from jgo.maven import MavenContext

    mirror = os.environ.get(REPOSITORY_VARIABLE)
    with tempfile.TemporaryDirectory(prefix="bifrost-lock-") as directory:
        context = MavenContext(
            repo_cache=Path(directory), remote_repos={"mirror": mirror} if mirror else None, timeout=60
        )
        excluded = [context.project(*entry.split(":")) for entry in without]
        wanted = [context.create_dependency(coordinate, excluded) for coordinate in coordinates]
        inputs, others = context.resolver.resolve(wanted)
        named = [(_coordinate(dependency), dependency) for dependency in others if dependency.type == "jar"]
        named = [(_coordinate(dependency), dependency) for dependency in inputs] + sorted(
            named, key=lambda pair: pair[0]
        )
        return [_hash(name, dependency.artifact.resolve()) for name, dependency in named]


def _coordinate(dependency: object) -> str:
    parts = [getattr(dependency, name) for name in ("groupId", "artifactId", "version", "classifier")]
    return ":".join(part for part in parts if part)


def _hash(coordinate: str, path: Path) -> LockedJar:
    content = path.read_bytes()
    return LockedJar(coordinate, hashlib.sha256(content).hexdigest(), len(content))


def format_lock(coordinates: Sequence[str], without: Sequence[str], jars: Sequence[LockedJar]) -> str:
    """Return the text of a lock file (TOML, one line per jar, no URL)."""

    def listed(values: Sequence[str]) -> str:
        return "[" + ", ".join(f'"{value}"' for value in values) + "]"

    lines = ["# Written by `python -m bifrost.jars.lock`; do not edit."]
    lines.append(f"coordinates = {listed(coordinates)}")
    if without:
        lines.append(f"without = {listed(without)}")
    lines.append("jars = [")
    for jar in jars:
        lines.append(f'  {{ jar = "{jar.coordinate}", sha256 = "{jar.sha256}", bytes = {jar.bytes} }},')
    return "\n".join([*lines, "]", ""])


def main() -> None:
    """Lock the coordinates of the command line into the package."""
    parser = argparse.ArgumentParser(description="Write the lock file of a set of Maven coordinates.")
    parser.add_argument("coordinates", nargs="+", metavar="group:artifact:version")
    parser.add_argument("--without", action="append", default=[], metavar="group:artifact")
    arguments = parser.parse_args()
    coordinates = sorted(arguments.coordinates)
    target = LOCKS / lock_name(coordinates)
    jars = lock_jars(coordinates, without=arguments.without)
    target.write_text(format_lock(coordinates, arguments.without, jars), encoding="utf-8")
    megabytes = sum(jar.bytes for jar in jars) / 1e6
    sys.stdout.write(f"{target.name}: {len(jars)} jars, {megabytes:.1f} MB\n")


if __name__ == "__main__":
    main()
