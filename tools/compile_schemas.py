"""Write what Bifrost knows of Kafka's protocol, from Kafka's own jars; or check that it is what they say.

    python tools/compile_schemas.py            writes the files below
    python tools/compile_schemas.py --check    writes nothing; exits 1 and names what differs

Into src/bifrost/wire: `schemas.json`, the table of every message that a broker receives or answers, in every
version; `messages.pyi`, the stubs of their classes; `api_keys.py` and `error_codes.py`. To take in a Kafka
release, name it in RELEASES, write its lock file (`python -m bifrost.jars.lock`) and run this; what
is not classified in wire/fields/entities.py is not served.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

from bifrost.jars import locked_jars
from bifrost.jars.errors import JvmError
from bifrost.wire.schema import read_schemas
from java_enums import read_enums, write_api_keys, write_error_codes
from java_vm import start_java
from message_definitions import DefinitionError, build_table, read_definitions, verify, write_table
from message_stubs import write_stubs

RELEASES = ("3.9.1", "4.3.1")
"""Kafka releases, oldest first: 3.9 is the last to define the versions that 4.0 dropped (KIP-896), the newest
decides everything it defines. Enums are the newest's."""

_WIRE = Path(__file__).resolve().parents[1] / "src" / "bifrost" / "wire"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool; return its exit code."""
    parser = argparse.ArgumentParser(description="Write the schema table, stubs and enums from Kafka's jars.")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if a file is not fresh")
    options = parser.parse_args(arguments)
    try:
        written = write_all()
    except (JvmError, DefinitionError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    stale = [name for name, text in written.items() if not _is_fresh(name, text, explain=options.check)]
    if options.check:
        return 1 if stale else 0
    for name in stale:
        (_WIRE / name).write_text(written[name], encoding="utf-8")
        print(f"wrote {name}")
    if not stale:
        print("nothing to write: every file is fresh")
    return 0


def write_all() -> dict[str, str]:
    """Give the text of every generated file, by its name in src/bifrost/wire.

    Raises:
        JvmError: a jar or a Java VM is missing.
        DefinitionError: the releases do not fit together.
    """
    class_paths = {
        release: locked_jars.resolve(locked_jars.client_coordinates(release)) for release in RELEASES
    }
    releases = {release: read_definitions(paths[0]) for release, paths in class_paths.items()}
    table = build_table(releases)
    verify(table, releases)
    text = write_table(RELEASES, table)
    start_java(class_paths[RELEASES[-1]])
    enums = read_enums()
    return {
        "schemas.json": text,
        "messages.pyi": write_stubs(read_schemas(json.loads(text))),
        "api_keys.py": write_api_keys(enums),
        "error_codes.py": write_error_codes(enums),
    }


def _is_fresh(name: str, text: str, *, explain: bool) -> bool:
    path = _WIRE / name
    found = path.read_text(encoding="utf-8") if path.exists() else ""
    if found == text:
        return True
    if explain:
        lines = zip_longest(found.splitlines(keepends=True), text.splitlines(keepends=True))
        line = next(number for number, (ours, theirs) in enumerate(lines, 1) if ours != theirs)
        print(
            f"{name} is not what Kafka's jars say, from line {line} on: run `make schemas`", file=sys.stderr
        )
    return False


if __name__ == "__main__":
    sys.exit(main())
