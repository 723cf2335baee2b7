"""Write the list of rooms in ARCHITECTURE.md from the packages' own descriptions.

`--check` exits 1 when the committed page is not what this writes.
"""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE, SOURCE = ROOT / "ARCHITECTURE.md", ROOT / "src/bifrost"
BEGIN, END = "<!-- rooms: begin -->", "<!-- rooms: end -->"


def rooms() -> str:
    """Return a table row for each package: its path, and the first paragraph of its docstring."""
    rows = ["| room | what is there |", "|---|---|"]
    for path in sorted(SOURCE.rglob("__init__.py"), key=lambda one: one.parent.relative_to(SOURCE).parts):
        name = path.parent.relative_to(SOURCE).as_posix()
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        if name != ".":
            first = " ".join(text.split("\n\n")[0].split())
            rows.append(f"| `{name}/` | {first} |")
    return "\n".join(rows)


def page(text: str) -> str:
    """Return the page with the list in its place."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{rooms()}\n{END}{after}"


def main() -> int:
    """Write the page, or compare it."""
    text = PAGE.read_text(encoding="utf-8")
    if "--check" in sys.argv[1:]:
        if page(text) == text:
            return 0
        print("ARCHITECTURE.md is not current: run .venv/bin/python tools/rooms_page.py")
        return 1
    PAGE.write_text(page(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
