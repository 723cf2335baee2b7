from bifrost.config.files.document import read_documents
from bifrost.config.files.source import Place
from bifrost.config.kubernetes.resource import Resource

TEXT = """\
kind: KafkaVirtualCluster
spec:
  listener:
    port: 9093
    bind:
"""


def resource(text: str = TEXT) -> Resource:
    [document] = read_documents(text)
    return Resource("clusters/a.yaml", document)


def test_a_value_is_found_by_its_place() -> None:
    found = resource()

    assert found.find(("spec", "listener", "port")) == (True, 9093)
    assert found.get("spec", "listener") == {"port": 9093, "bind": None}
    assert found.get("kind") == "KafkaVirtualCluster"


def test_a_key_without_a_value_is_there_and_another_is_not() -> None:
    found = resource()

    assert found.find(("spec", "listener", "bind")) == (True, None)
    assert found.find(("spec", "listener", "tls")) == (False, None)
    assert found.find(("kind", "listener")) == (False, None)
    assert found.get("spec", "auth", "credentials") is None


def test_a_place_has_the_line_of_the_nearest_value_that_was_written() -> None:
    found = resource()

    assert found.place_of(("spec", "listener", "port")) == Place("clusters/a.yaml", 4)
    assert found.place_of(("spec", "listener", "tls", "keyFile")) == Place("clusters/a.yaml", 3)
    assert str(found.place_of(())) == "clusters/a.yaml:1"


def test_a_document_that_is_no_mapping_has_no_values() -> None:
    found = resource("- a\n- b\n")

    assert found.root == {}
    assert found.find(("spec",)) == (False, None)


def test_places_that_cannot_be_read_are_known() -> None:
    assert resource().broken == set()
    assert resource("kind: a\nspec: { port: !number 1 }\n").broken == {("spec", "port")}
