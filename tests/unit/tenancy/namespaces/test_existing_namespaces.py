from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.namespaces.existing_namespaces import ExistingNamespaces
from bifrost.tenancy.namespaces.namespace_tree import KIND


def key(name: str) -> StateKey:
    return StateKey(KIND, name)


def record(name: str) -> StateRecord:
    return StateRecord(key(name), 1, 0, "c", "w", None, {})


def test_the_state_creates_and_deletes_namespaces() -> None:
    existing = ExistingNamespaces()
    told: list[str] = []
    existing.changed = told.append
    acme = existing.of("acme")

    existing.apply(key("acme:eu"), record("acme:eu"))
    existing.apply(key("acme:eu:de"), record("acme:eu:de"))
    existing.apply(key("acme:eu"), record("acme:eu"))
    assert acme == {("eu",), ("eu", "de")}
    assert existing.of("globex") == set()
    existing.apply(key("acme:eu:de"), None)
    existing.apply(key("acme:us"), None)
    assert acme == {("eu",)}
    assert told == ["acme"] * 3


def test_what_the_configuration_names_exists_with_all_above_it() -> None:
    existing = ExistingNamespaces()
    existing.configure({"acme": [("eu", "de")], "globex": []})
    acme = existing.of("acme")
    assert acme == {("eu",), ("eu", "de")}

    existing.apply(key("acme:eu"), record("acme:eu"))
    existing.configure({"globex": [("us",)]})
    assert acme == {("eu",)}
    assert existing.of("globex") == {("us",)}
    existing.apply(key("acme:eu"), None)
    assert acme == set()


def test_a_key_that_names_no_namespace_has_no_effect() -> None:
    existing = ExistingNamespaces()
    existing.apply(key("acme"), record("acme"))
    existing.apply(key("a b:c"), record("a b:c"))

    assert existing.of("acme") == set()


def test_a_reload_tells_of_what_has_changed_alone() -> None:
    existing, told = ExistingNamespaces(), []
    existing.configure({"acme": (("eu",),), "globex": (("us",),)})
    existing.changed = told.append

    existing.configure({"acme": (("eu",),), "globex": (("us",), ("fr",))})
    existing.configure({"acme": (("eu",),), "globex": (("us",), ("fr",))})

    assert told == ["globex"]
    assert existing.of("globex") == {("us",), ("fr",)}
