from bifrost.config.fields.journal import JOURNAL_TOPIC
from bifrost.config.name_template import NamePrefixes
from bifrost.journal.topic_owners import TopicOwners, owner_marks
from bifrost.tenancy.names import TenantNames
from support.physical_names import physical_name


def test_a_topic_is_of_its_tenant_or_of_none() -> None:
    literal = TenantNames("initech", prefixes=NamePrefixes("__bifrost_", "g-", "t-"))
    owners = TopicOwners([TenantNames("acme", ["orders"]), TenantNames("globex"), literal])

    assert owners.of(physical_name("acme", "orders")) == ("acme", "orders")
    assert owners.of(physical_name("acme", "secret")) is None
    assert owners.of(physical_name("globex", "any.thing")) == ("globex", "any.thing")
    assert owners.of("__bifrost_mine") == ("initech", "mine")
    assert owners.of(JOURNAL_TOPIC) is None
    assert owners.of("__consumer_offsets") is None


def test_readers_of_the_journal_are_told_how_each_kind_of_name_begins() -> None:
    names = TenantNames("initech", prefixes=NamePrefixes("t-", "g-", "x-"))

    assert owner_marks(names) == {
        "topic_prefix": "t-",
        "group_prefix": "g-",
        "transactional_id_prefix": "x-",
    }
