import pytest

from bifrost.control.stored_aliases import StoredAliases, TopicsElsewhere
from bifrost.tenancy.namespaces.alias_table import Access, AliasTable, Place
from bifrost.tenancy.namespaces.namespace_path import read_path
from support.control.table_backend import TableBackend

HOME, TARGET = Place.read("acme:eu/orders"), Place.read("acme:billing/orders")


def test_the_table_is_read_again_when_it_has_changed() -> None:
    backend = TableBackend()
    aliases = StoredAliases(backend)
    assert len(aliases.table) == 0

    backend.put(aliases.table.move(HOME, TARGET))

    assert aliases.table.owner_of(HOME) == TARGET


@pytest.mark.parametrize("path", ["acme:eu", "acme:billing", "globex"])
def test_a_namespace_with_a_place_of_a_moved_or_shared_topic_is_used(path: str) -> None:
    backend = TableBackend()
    aliases = StoredAliases(backend)
    backend.put(AliasTable().move(HOME, TARGET))
    backend.put(aliases.table.share(TARGET, Place.read("globex/p"), Access.READ))

    aliases.check_unused([read_path("acme:us")])
    with pytest.raises(TopicsElsewhere, match=f"{path}/"):
        aliases.check_unused([read_path("acme:us"), read_path(path)])
