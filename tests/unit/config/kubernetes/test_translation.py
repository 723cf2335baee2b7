from bifrost.config.fields.tenants import Tenant
from bifrost.config.files.document import read_documents
from bifrost.config.files.source import Place
from bifrost.config.kubernetes.resource import Resource
from bifrost.config.kubernetes.translation import Translation

TEXT = """\
metadata: { name: acme }
spec:
  virtualization:
    allowedTopics: [orders]
    allowTopicDeletion: true
  auth:
    credentials:
      - username: acme
        passwordFile: a.password
        passwrdFile: b
"""
AUTH = ("spec", "auth")


def resource(text: str = TEXT, file: str = "a.yaml") -> Resource:
    [document] = read_documents(text)
    return Resource(file, document)


def translated(found: Resource) -> tuple[Translation, dict[str, object]]:
    """Copy the users of a document to those of the second tenant."""
    made = Translation(found, {"topic": "topicPrefix"})
    content = {"auth": found.get(*AUTH)}
    fields = made.copy_fields(found, ("spec",), ("tenants", 1), content, Tenant, {"auth": "auth"})
    return made, fields


def test_keys_become_those_of_the_model_at_every_depth() -> None:
    _, fields = translated(resource())

    assert fields == {"auth": {"credentials": [{"username": "acme", "password_file": "a.password"}]}}


def test_a_value_keeps_the_place_where_it_was_written() -> None:
    made, _ = translated(resource())
    user = ("tenants", 1, "auth", "credentials", 0)

    assert made.place_of((*user, "password_file")) == Place("a.yaml", 9)
    # What was not written is looked for where its section begins.
    assert made.place_of((*user, "namespace")) == Place("a.yaml", 8)
    assert made.place_of(("proxy", "limits")) == Place("a.yaml", 1)


def test_a_message_names_the_place_and_the_keys_of_the_document() -> None:
    made, _ = translated(resource())
    loc = ("tenants", 1, "auth", "credentials", 0, "password_file")

    text = made.word(loc, "tenants[1].auth.credentials[0].password_file: no such file, or give scram_file")

    assert text == "spec.auth.credentials[0].passwordFile: no such file, or give scramFile"


def test_an_unknown_key_is_reported_with_the_nearest() -> None:
    made, _ = translated(resource())

    [(spoils, place, text)] = made.problems
    assert (spoils, place) == (None, Place("a.yaml", 10))
    assert text == "spec.auth.credentials[0].passwrdFile: unknown key; did you mean passwordFile?"


def test_a_section_that_is_missing_or_no_mapping_is_reported() -> None:
    found = resource("spec:\n  listener: 9093\n  auth:\n")
    made = Translation(found, {})

    assert made.section(found, ("spec", "listener"), ["port"], spoils=("proxy",)) is None
    assert made.section(found, AUTH, ["credentials"]) is None
    assert made.section(found, ("spec", "targetCluster"), ["name"], needs="bootstrapServers") is None
    assert made.section(found, ("metadata",), ["name"]) is None
    assert made.problems == [
        (("proxy",), Place("a.yaml", 2), "spec.listener: expected a mapping of keys to values"),
        (None, Place("a.yaml", 3), "spec.auth has no value: write one, or remove the line"),
        (None, Place("a.yaml", 1), "spec.targetCluster is missing: add it, with bootstrapServers"),
    ]


def test_a_section_has_its_known_keys_only() -> None:
    found = resource()
    made = Translation(found, {})

    assert made.section(found, ("spec", "virtualization"), ["allowedTopics"]) == {"allowedTopics": ["orders"]}
    assert [text for _, _, text in made.problems] == [
        "spec.virtualization.allowTopicDeletion: unknown key; did you mean allowedTopics?"
    ]


def test_mistakes_of_documents_spoil_the_values_that_they_became() -> None:
    first = resource()
    other = resource("spec:\n  auth: { credentials: !list [] }\n", "b.yaml")
    made, _ = translated(first)
    made.origins["tenants", 2, "auth"] = (other, AUTH)
    made.origins["tenants", 2, "auth", "credentials"] = (other, (*AUTH, "credentials"))
    made.problems.clear()

    made.add_document_problems([first, other])

    [(spoils, place, _)] = made.problems
    assert (spoils, place) == (("tenants", 2, "auth", "credentials"), Place("b.yaml", 2))
