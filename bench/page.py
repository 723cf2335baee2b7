"""Puts figures between two comments of a Markdown page, so that a command writes what a person need not copy."""

from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


class PageError(Exception):
    """The page has no place for the figures."""


def replace_between(page: str, name: str, text: str) -> str:
    """Return the page with `text` between `<!-- name: begin -->` and `<!-- name: end -->`.

    Raises:
        PageError: the page has not exactly one such place.
    """
    before, _, after = _parts(page, name)
    return f"{before}\n{text.strip()}\n{after}"


def between(page: str, name: str) -> str:
    """Return what stands between `<!-- name: begin -->` and `<!-- name: end -->`.

    Raises:
        PageError: the page has not exactly one such place.
    """
    return _parts(page, name)[1].strip()


def _parts(page: str, name: str) -> tuple[str, str, str]:
    """Return what stands before, between and after the comments, which belong to the first and the last part."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise PageError(f"the page needs {begin} once and {end} once, in this order")
    before, rest = page.split(begin)
    text, after = rest.split(end)
    return before + begin, text, end + after
