"""Puts figures between two comments of a Markdown page, so that a command writes what a person need not copy."""


class PageError(Exception):
    """The page has no place for the figures."""


def replace_between(page: str, name: str, text: str) -> str:
    """Return the page with `text` between `<!-- name: begin -->` and `<!-- name: end -->`.

    Raises:
        PageError: the page has not exactly one such place.
    """
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise PageError(f"the page needs {begin} once and {end} once, in this order")
    before, rest = page.split(begin)
    _, after = rest.split(end)
    return f"{before}{begin}\n{text.strip()}\n{end}{after}"
