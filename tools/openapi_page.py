"""Write docs/control.openapi.json, the OpenAPI document of the admin API.

`--check` exits 1 when the committed file is not what this writes.
"""

import json
import sys
from pathlib import Path

from bifrost.control.application import build_api

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "control.openapi.json"


def text() -> str:
    """Return the document as it is committed."""
    return json.dumps(build_api(None).openapi(), indent=1, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    """Run the tool; return its exit code."""
    fresh = text()
    if arguments == ["--check"]:
        is_current = DOCUMENT.exists() and DOCUMENT.read_text(encoding="utf-8") == fresh
        if not is_current:
            print(f"{DOCUMENT.name} is not current: run .venv/bin/python tools/openapi_page.py")
        return 0 if is_current else 1
    DOCUMENT.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
