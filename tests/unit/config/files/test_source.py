from pathlib import Path

from bifrost.config.files.document import read_documents
from bifrost.config.files.source import Place, Source


def source(text: str) -> Source:
    [document] = read_documents(text)
    return Source("etc/proxy.yaml", document)


def test_a_place_is_shown_as_file_and_line() -> None:
    found = source("proxy:\n  limits:\n    max_connections: 7\n")

    assert found.data == {"proxy": {"limits": {"max_connections": 7}}}
    assert str(found.place_of(("proxy", "limits", "max_connections"))) == "etc/proxy.yaml:3"
    assert found.place_of(("proxy", "admin", "port")) == Place("etc/proxy.yaml", 1)


def test_relative_paths_start_at_the_folder_of_the_file() -> None:
    assert source("a: 1\n").folder == Path("etc")


def test_mistakes_of_the_document_have_their_places() -> None:
    [(loc, place, text)] = source("b: 2\na: !text 3\n").problems

    assert (loc, place) == (("a",), Place("etc/proxy.yaml", 2))
    assert "a tag (!...) is not supported" in text


def test_messages_are_in_the_terms_of_the_model_already() -> None:
    found = source("a: 1\n")

    assert found.word(("a",), "a: expected a text") == "a: expected a text"
    assert found.hint(("a",), ("b",)) == ""
    assert found.unreported == set()
