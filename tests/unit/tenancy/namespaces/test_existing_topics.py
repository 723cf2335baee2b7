"""What was seen to exist passes, until it is forgotten."""

from bifrost.tenancy.namespaces.existing_topics import EXISTING_FOR_MS, ExistingTopics
from bifrost.wire.rewriting import Names
from support.physical_names import physical_name
from support.stage.stage import Stage


class Scene:
    def __init__(self, most: int = 10) -> None:
        self.now_ms = 1_000
        self.names = Stage().namespaces["initech"].names
        table = Names(lambda _slot, _value: None)
        self.existing = ExistingTopics(self.names, table, lambda: self.now_ms, most)


def test_a_topic_is_forgotten_in_metadata_after_a_while_and_in_fetches_not() -> None:
    scene = Scene()
    scene.existing.add(b"a")
    scene.existing.let_fetch(b"a")

    scene.now_ms += EXISTING_FOR_MS
    scene.existing.add(b"b")

    assert b"a" not in scene.existing
    assert b"b" in scene.existing
    assert scene.existing.may_be_fetched(b"a")
    assert not scene.existing.may_be_fetched(b"b")


def test_a_deleted_topic_is_forgotten() -> None:
    scene = Scene()
    for topic in (b"a", b"b"):
        scene.existing.add(topic)
        scene.existing.let_fetch(topic)

    scene.existing.forget(scene.names.physical_topic(b"a"))

    assert not scene.existing.may_be_fetched(b"a")
    assert scene.existing.may_be_fetched(b"b")
    assert b"b" not in scene.existing, "names in Metadata are forgotten together"


def test_another_tenants_topic_is_nothing_to_forget() -> None:
    scene = Scene()
    scene.existing.let_fetch(b"a")

    scene.existing.forget(physical_name("acme", "a").encode())

    assert scene.existing.may_be_fetched(b"a")


def test_only_so_many_are_remembered() -> None:
    scene = Scene(most=2)

    for topic in (b"a", b"b", b"c"):
        scene.existing.let_fetch(topic)

    assert [one for one in (b"a", b"b", b"c") if scene.existing.may_be_fetched(one)] == [b"c"]
