import rooms_page
from rooms_page import BEGIN, END, PAGE


def test_the_committed_list_of_rooms_is_current() -> None:
    assert rooms_page.page(PAGE.read_text(encoding="utf-8")) == PAGE.read_text(encoding="utf-8"), (
        "run .venv/bin/python tools/rooms_page.py"
    )


def test_what_stands_around_the_list_stays() -> None:
    written = rooms_page.page(f"before\n{BEGIN}\nan old list\n{END}\nafter\n")

    assert written.startswith(f"before\n{BEGIN}\n| room |")
    assert written.endswith(f"{END}\nafter\n")
    assert "an old list" not in written
    assert "| `wire/` |" in written
