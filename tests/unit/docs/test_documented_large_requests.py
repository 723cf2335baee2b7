"""Bounds of large requests in docs/operations.md are those of the gateway; `test_refused_requests.py` has all APIs."""

import re

import pytest

from bifrost.filters.error_response import MAX_TEXTS
from bifrost.session.decoded_request import (
    MAX_ANSWERED_BYTES,
    MAX_DECODED_REQUEST_BYTES,
    MAX_ITEMS,
    MAX_OTHER_DECODED_BYTES,
)
from support.pages.doc_pages import page

MIB = 1024 * 1024


@pytest.mark.parametrize(
    "words",
    [
        f"has to be decoded | {MAX_DECODED_REQUEST_BYTES // MIB} MiB; SyncGroup {MAX_OTHER_DECODED_BYTES // MIB} MiB",
        f"a request above {MAX_OTHER_DECODED_BYTES // MIB} MiB that the gateway has to decode only in exceptions",
        f"at most {MAX_ITEMS:,} items of a request, in all its lists together",
        f"at most {MAX_ANSWERED_BYTES // MIB} MiB of names and other strings",
        f"The first {MAX_TEXTS:,} errors have a text",
    ],
)
def test_the_page_has_the_bounds_of_large_requests(words: str) -> None:
    assert words in re.sub(r"\s+", " ", page("operations.md"))
