"""Write docs/config.schema.json, what `bifrost schema` prints.

`--check` exits 1 when the committed file is not what this writes.
"""

import sys
from pathlib import Path

from bifrost.config.json_schema import schema_text

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "docs" / "config.schema.json"


def main(arguments: list[str]) -> int:
    """Run the tool; return its exit code."""
    fresh = schema_text()
    if arguments == ["--check"]:
        is_current = SCHEMA.exists() and SCHEMA.read_text(encoding="utf-8") == fresh
        if not is_current:
            print(f"{SCHEMA.name} is not current: run .venv/bin/python tools/configuration_schema.py")
        return 0 if is_current else 1
    SCHEMA.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
