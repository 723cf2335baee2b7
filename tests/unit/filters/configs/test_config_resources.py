import pytest

from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name, prefix_of
from support.stage import messages
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
DENIED, INVALID_REQUEST = ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.INVALID_REQUEST
INVALID_TOPIC, UNKNOWN = ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

APIS = {
    "DescribeConfigs": ("results", range(1, 5)),
    "AlterConfigs": ("responses", range(3)),
    "IncrementalAlterConfigs": ("responses", range(2)),
}
EVERY_VERSION = [(api, version) for api, (_, versions) in APIS.items() for version in versions]
NEWEST = [(api, versions[-1]) for api, (_, versions) in APIS.items()]

Resource = tuple[int, str]


def request(api: str, *resources: Resource):
    fields = {"configuration_keys": None} if api == "DescribeConfigs" else {}
    return messages.build(
        f"{api}Request",
        {"resources": [{"resource_type": kind, "resource_name": name, **fields} for kind, name in resources]},
    )


def result(kind: int, name: str, error_code: ErrorCode = ErrorCode.NONE, text: str | None = None):
    fields = {"error_code": error_code, "resource_type": kind, "resource_name": name}
    return {**fields, "error_message": text}


def refused(kind: int, name: str, error_code: ErrorCode = DENIED):
    return result(kind, name, error_code, error_code.message)


def response(api: str, *found):
    return messages.build(f"{api}Response", {APIS[api][0]: list(found)})


@pytest.mark.parametrize(("api", "version"), EVERY_VERSION)
def test_a_name_means_what_its_type_says(stage: Stage, api: str, version: int) -> None:
    assert (
        stage.play()
        >> client_sends(request(api, (TOPIC, "orders"), (GROUP, "orders"), (TOPIC, "users")), version)
        << to_broker(
            request(
                api,
                (TOPIC, physical_name("acme", "orders")),
                (GROUP, physical_name("acme", "orders")),
                (TOPIC, prefix_of("acme") + stage.namespaces["acme"].absent_topic("users")),
            )
        )
        >> broker_answers(
            response(
                api,
                result(TOPIC, physical_name("acme", "orders")),
                result(GROUP, physical_name("acme", "orders")),
            )
        )
        << to_client(response(api, result(TOPIC, "orders"), result(GROUP, "orders")))
    )


@pytest.mark.parametrize(
    ("api", "version", "kind"),
    [
        (api, version, kind)
        for api, version in EVERY_VERSION
        for kind in (BROKER, BROKER_LOGGER, CLIENT_METRICS)
        # Some of a broker's configs may be read: test_broker_configs.py.
        if (api, kind) != ("DescribeConfigs", BROKER)
    ],
)
def test_what_belongs_to_the_cluster_is_refused(stage: Stage, api: str, version: int, kind: int) -> None:
    book = stage.play() >> client_sends(request(api, (kind, "1"), (kind, "")), version)

    assert book << to_client(response(api, refused(kind, "1"), refused(kind, "")))


@pytest.mark.parametrize(("api", "version"), NEWEST)
@pytest.mark.parametrize("kind", [0, 1, 3, 64, -1])
def test_an_unknown_type_is_refused(stage: Stage, api: str, version: int, kind: int) -> None:
    book = stage.play() >> client_sends(request(api, (kind, "orders")), version)

    assert book << to_client(response(api, refused(kind, "orders", INVALID_REQUEST)))


@pytest.mark.parametrize(("api", "version"), EVERY_VERSION)
def test_what_is_refused_is_answered_with_the_rest(stage: Stage, api: str, version: int) -> None:
    assert (
        stage.play()
        >> client_sends(request(api, (BROKER_LOGGER, "1"), (TOPIC, "orders")), version)
        << to_broker(request(api, (TOPIC, physical_name("acme", "orders"))))
        >> broker_answers(response(api, result(TOPIC, physical_name("acme", "orders"))))
        << to_client(response(api, result(TOPIC, "orders"), refused(BROKER_LOGGER, "1")))
    )


@pytest.mark.parametrize(("api", "version"), NEWEST)
def test_a_hidden_topic_does_not_exist(stage: Stage, api: str, version: int) -> None:
    absent = prefix_of("acme") + stage.namespaces["acme"].absent_topic("users")
    book = stage.play() >> client_sends(request(api, (TOPIC, "users")), version)

    book << to_broker(request(api, (TOPIC, absent)))
    book >> broker_answers(
        response(api, result(TOPIC, absent, UNKNOWN, f"The topic '{absent}' does not exist."))
    )

    assert book << to_client(
        response(api, result(TOPIC, "users", UNKNOWN, "The topic 'users' does not exist."))
    )


@pytest.mark.parametrize(("api", "version"), NEWEST)
def test_a_name_that_no_topic_can_have_stays_invalid(stage: Stage, api: str, version: int) -> None:
    text, virtual = f"'{physical_name('acme', '/a')} b' is invalid", "'a b' is invalid"
    assert (
        stage.play()
        >> client_sends(request(api, (TOPIC, "a b")), version)
        << to_broker(request(api, (TOPIC, physical_name("acme", "/a b"))))
        >> broker_answers(response(api, result(TOPIC, physical_name("acme", "/a b"), INVALID_TOPIC, text)))
        << to_client(response(api, result(TOPIC, "a b", INVALID_TOPIC, virtual)))
    )


@pytest.mark.parametrize(("api", "version"), NEWEST)
def test_a_group_may_be_called_as_a_hidden_topic(stage: Stage, api: str, version: int) -> None:
    assert (
        stage.play()
        >> client_sends(request(api, (GROUP, "users")), version)
        << to_broker(request(api, (GROUP, physical_name("acme", "users"))))
        >> broker_answers(response(api, result(GROUP, physical_name("acme", "users"), INVALID_TOPIC)))
        << to_client(response(api, result(GROUP, "users", INVALID_TOPIC)))
    )


@pytest.mark.parametrize("version", APIS["DescribeConfigs"][1])
def test_the_configs_of_a_topic_pass(stage: Stage, version: int) -> None:
    def found(name: str):
        synonym = {"name": "log.retention.ms", "value": "1", "source": 5}
        config = {"name": "retention.ms", "value": "1", "config_source": 1, "synonyms": [synonym]}
        return messages.DescribeConfigsResponse(
            results=[{"resource_type": TOPIC, "resource_name": name, "configs": [config]}]
        )

    book = stage.play() >> client_sends(request("DescribeConfigs", (TOPIC, "orders")), version)
    book << to_broker(request("DescribeConfigs", (TOPIC, physical_name("acme", "orders"))))

    assert book >> broker_answers(found(physical_name("acme", "orders"))) << to_client(found("orders"))


@pytest.mark.parametrize(("api", "version"), NEWEST)
def test_no_resources_are_left_to_the_broker(stage: Stage, api: str, version: int) -> None:
    assert stage.play() >> client_sends(request(api), version) << to_broker(request(api))


# -- ListConfigResources


def test_only_own_topics_and_groups_have_configs(stage: Stage) -> None:
    ask = messages.ListConfigResourcesRequest(resource_types=[])
    on_the_broker = [
        (TOPIC, physical_name("acme", "orders")),
        (TOPIC, physical_name("acme", "users")),
        (TOPIC, physical_name("globex", "orders")),
        (GROUP, physical_name("acme", "users")),
        (GROUP, physical_name("globex", "g")),
        (BROKER, "1"),
        (BROKER_LOGGER, "1"),
        (CLIENT_METRICS, physical_name("acme", "metrics")),
    ]
    answer, expected = (
        messages.ListConfigResourcesResponse(
            config_resources=[{"resource_type": kind, "resource_name": name} for kind, name in resources]
        )
        for resources in (on_the_broker, [(TOPIC, "orders"), (GROUP, "users")])
    )
    assert (
        stage.play()
        >> client_sends(ask, 1)
        << to_broker(ask)
        >> broker_answers(answer)
        << to_client(expected)
    )


def test_the_metrics_that_others_subscribed_to_are_not_listed(stage: Stage) -> None:
    # v0 lists nothing else and says no type.
    answer = messages.ListConfigResourcesResponse(
        config_resources=[{"resource_name": physical_name("acme", "metrics")}]
    )
    ask = messages.ListConfigResourcesRequest()

    book = stage.play() >> client_sends(ask, 0) << to_broker(ask) >> broker_answers(answer)

    assert book << to_client(messages.ListConfigResourcesResponse())
