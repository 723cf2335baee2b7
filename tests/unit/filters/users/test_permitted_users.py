from dataclasses import replace

from bifrost.filters.filter import Exchange
from bifrost.filters.steps import FORWARD, Answer
from bifrost.filters.users.permitted_users import PermittedUsers
from bifrost.tenancy.acls.acl_binding import Operation, ResourceType
from bifrost.tenancy.users.stored_users import Allowance, StoredUsers
from bifrost.wire.api_keys import ApiKey
from support.stage import messages
from support.stage.guards import allow, exchange_of, guard_of
from support.stage.stage import Stage

REQUEST = messages.DescribeUserScramCredentialsRequest(users=None)
API = ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS


def asked(exchange: Exchange, users: StoredUsers | None) -> object:
    exchange.scope = replace(exchange.scope, users=users)
    one = PermittedUsers(Operation.DESCRIBE, "user_description", "UserDescriptionFilter")
    return one.on_request(exchange, REQUEST)


def test_a_tenant_that_may_have_no_users_is_refused_by_the_next_filter() -> None:
    users = StoredUsers()
    users.allow({"acme": Allowance("acme-", 1)})

    assert asked(Stage().exchange(0, "initech", API), users) is FORWARD
    assert asked(Stage().exchange(0, "acme", API), None) is FORWARD
    assert isinstance(asked(Stage().exchange(0, "acme", API), users), Answer)


def test_a_client_needs_the_right_on_the_cluster_where_there_are_acls() -> None:
    users, stage = StoredUsers(), Stage()
    users.allow({"initech": Allowance("i-", 1)})
    right = allow("DESCRIBE", "kafka-cluster", ResourceType.CLUSTER)

    assert asked(exchange_of(guard_of(stage), API, 0), users) is FORWARD
    assert isinstance(asked(exchange_of(guard_of(stage, right), API, 0), users), Answer)
