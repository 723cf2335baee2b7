import pytest

from bifrost.filters.api_versions import common_versions, is_valid, offered_versions
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.fields.entities import REFUSED, SERVED, served_versions
from bifrost.wire.schema import VersionRange, all_schemas
from support.stage import messages
from support.stage.playbook import client_sends, to_client
from support.stage.stage import Stage, broker_versions


def ranges(answer) -> dict[int, tuple[int, int]]:
    return {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}


def test_what_both_sides_have_is_offered() -> None:
    offered = offered_versions(broker_versions(Metadata=(4, 99), Fetch=(-1, 11), Heartbeat=(2, 3)))

    answer = ranges(offered.response(4))

    assert answer[ApiKey.METADATA] == (4, served_versions(ApiKey.METADATA).high)
    assert answer[ApiKey.FETCH] == (0, 11)
    assert answer[ApiKey.HEARTBEAT] == (2, 3)


def test_an_api_without_a_common_version_is_not_offered() -> None:
    offered = offered_versions(broker_versions(Metadata=(90, 99)))

    assert ApiKey.METADATA not in ranges(offered.response(4))
    assert not offered.offers(ApiKey.METADATA, 13)


def test_produce_is_offered_from_v0_where_the_broker_lists_it() -> None:
    # Or old librdkafka turns compression off (KAFKA-18659).
    offered = offered_versions(broker_versions(Produce=(0, 13)))

    assert ranges(offered.response(0))[ApiKey.PRODUCE] == (0, 13)


def test_only_what_is_classified_or_refused_by_name_is_offered() -> None:
    offered = offered_versions(broker_versions())

    keys = set(ranges(offered.response(4)))

    assert keys == {int(key) for key in [*SERVED, *REFUSED]}
    everything = {schema.api_key for schema in all_schemas() if schema.kind == "request"}
    assert ApiKey.WRITE_TXN_MARKERS in everything - keys


def test_what_only_brokers_send_is_not_offered() -> None:
    offered = offered_versions(broker_versions())

    assert ranges(offered.response(4))[ApiKey.ADD_PARTITIONS_TO_TXN] == (0, 3)
    assert offered.offers(ApiKey.ADD_PARTITIONS_TO_TXN, 3)
    assert not offered.offers(ApiKey.ADD_PARTITIONS_TO_TXN, 4)


def test_the_gateways_own_apis_are_offered_whatever_the_broker_has() -> None:
    offered = offered_versions(messages.ApiVersionsResponse())

    assert ranges(offered.response(4)) == {
        ApiKey.SASL_HANDSHAKE: (0, 1),
        ApiKey.API_VERSIONS: (0, 4),
        ApiKey.SASL_AUTHENTICATE: (0, 2),
    }


@pytest.mark.parametrize("version", range(5))
def test_features_pass(stage: Stage, version: int) -> None:
    request = messages.ApiVersionsRequest(client_software_name="a", client_software_version="1")
    book = stage.play() >> client_sends(request, version)

    assert book << to_client(stage.versions.response(version))
    answer = stage.versions.response(version)
    assert [feature.name for feature in answer.supported_features] == ["transaction.version"]
    assert len(answer.finalized_features) == 1


@pytest.mark.parametrize(
    ("levels", "brokers_epoch", "shown"),
    [((2,), 7, 2), ((2,), 8, 2), ((3, 5), 8, 8), ((), 0, 0), ((2,), -1, -1)],
)
def test_epoch_of_features_counts_nothing_but_features(
    levels: tuple[int, ...], brokers_epoch: int, shown: int
) -> None:
    features = [
        {"name": f"f{number}", "max_version_level": level, "min_version_level": 1}
        for number, level in enumerate(levels)
    ]
    offered = offered_versions(
        messages.build(
            "ApiVersionsResponse",
            {"finalized_features_epoch": brokers_epoch, "finalized_features": features},
        )
    )

    assert offered.response(4).finalized_features_epoch == shown


@pytest.mark.parametrize(("version", "names"), [(3, ["b"]), (4, ["a", "b"])])
def test_a_feature_from_version_0_on_is_told_to_those_who_can_read_it(version: int, names: list[str]) -> None:
    broker = broker_versions()
    feature = type(broker).SupportedFeatureKey
    broker.supported_features = [
        feature(name="a", min_version=0, max_version=1),
        feature(name="b", min_version=1, max_version=1),
    ]

    answer = offered_versions(broker).response(version)

    assert [one.name for one in answer.supported_features] == names


def test_an_unsupported_version_is_told_which_there_are(stage: Stage) -> None:
    answer = stage.versions.unsupported_version_response()

    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert ranges(answer) == ranges(stage.versions.response(4))


@pytest.mark.parametrize(
    ("name", "version", "valid"),
    [
        ("apache-kafka-java", "4.3.1", True),
        ("a", "0", True),
        ("", "1", False),
        ("a", "", False),
        ("-a", "1", False),
        ("a.", "1", False),
        ("a b", "1", False),
        ("a\n", "1", False),
        ("ä", "1", False),
    ],
)
def test_software_is_named_as_kip_511_wants(stage: Stage, name: str, version: str, valid: bool) -> None:
    request = messages.ApiVersionsRequest(client_software_name=name, client_software_version=version)
    refusal = messages.ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)

    book = stage.play(tenant=None) >> client_sends(request, 3)

    assert is_valid(request) == valid
    assert book << to_client(stage.versions.response(3) if valid else refusal)


def test_what_several_brokers_have_in_common_is_offered() -> None:
    one = offered_versions(broker_versions(Fetch=(4, 12), Produce=(3, 9)))
    other = offered_versions(broker_versions(Fetch=(0, 17), Produce=(10, 11)))
    common = common_versions([one, other])

    assert common.ranges[ApiKey.FETCH] == VersionRange(4, 12)
    assert ApiKey.PRODUCE not in common.ranges
    assert common.response(4).finalized_features == one.response(4).finalized_features


def test_a_feature_that_is_not_the_same_everywhere_is_not_offered() -> None:
    plain = broker_versions()
    plain.finalized_features = []
    common = common_versions([offered_versions(broker_versions()), offered_versions(plain)])

    assert common.response(4).finalized_features == []


def test_one_alone_offers_what_it_has() -> None:
    one = offered_versions(broker_versions())

    assert common_versions([one]) is one


def test_where_no_broker_is_known_only_what_the_gateway_serves_itself_is_offered() -> None:
    common = common_versions([])

    assert set(common.ranges) == {ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE, ApiKey.API_VERSIONS}
