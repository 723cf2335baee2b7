"""A request to the operator's HTTP port, as its pages and commands get it."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs

import h11


@dataclass(frozen=True, slots=True)
class AdminRequest:
    """What an operator, a scraper or a probe asks for."""

    method: str
    path: str
    """As sent, without the query."""

    query_string: str
    headers: Mapping[str, str]
    """By name in lower case; the values of a header that comes twice are joined by a comma."""

    @property
    def query(self) -> dict[str, list[str]]:
        """The values of each parameter of the query, in their order."""
        return parse_qs(self.query_string, keep_blank_values=True)


def read_request(request: h11.Request) -> AdminRequest:
    """Return a request that h11 has read."""
    path, _, query = request.target.decode("latin-1").partition("?")
    headers: dict[str, str] = {}
    for name_bytes, value_bytes in request.headers:
        name, value = name_bytes.decode("latin-1"), value_bytes.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return AdminRequest(request.method.decode("latin-1"), path, query, headers)
