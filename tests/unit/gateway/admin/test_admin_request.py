import h11

from bifrost.gateway.admin.admin_request import AdminRequest, read_request


def request(target: str, *headers: tuple[str, str]) -> AdminRequest:
    return read_request(h11.Request(method="GET", target=target, headers=[("Host", "localhost"), *headers]))


def test_a_request_has_its_method_path_and_query() -> None:
    read = request("/topics?tenant=acme&tenant=globex&name=a%20b&all=")

    assert (read.method, read.path) == ("GET", "/topics")
    assert read.query == {"tenant": ["acme", "globex"], "name": ["a b"], "all": [""]}


def test_a_request_without_a_query_has_no_parameters() -> None:
    assert request("/topics").query == {}


def test_headers_are_found_by_their_name_in_lower_case() -> None:
    read = request("/", ("Authorization", "Bearer x"), ("Accept", "a"), ("ACCEPT", "b"))

    assert read.headers == {"host": "localhost", "authorization": "Bearer x", "accept": "a, b"}
