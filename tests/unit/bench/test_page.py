import pytest
from bench.page import PageError, between, replace_between

PAGE = "before\n<!-- a: begin -->\nold\n<!-- a: end -->\nafter\n"


def test_only_what_is_between_the_comments_changes() -> None:
    changed = replace_between(PAGE, "a", "\nnew\n\n")

    assert changed == "before\n<!-- a: begin -->\nnew\n<!-- a: end -->\nafter\n"
    assert replace_between(changed, "a", "new") == changed


def test_what_is_between_the_comments_is_read() -> None:
    assert between(PAGE, "a") == "old"


@pytest.mark.parametrize("page", ["", PAGE + PAGE, "<!-- a: end --> <!-- a: begin -->", "<!-- a: begin -->"])
def test_a_page_without_exactly_one_place_is_refused(page: str) -> None:
    with pytest.raises(PageError, match="<!-- a: begin -->"):
        replace_between(page, "a", "new")
