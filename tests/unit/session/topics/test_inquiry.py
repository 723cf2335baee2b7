import pytest

from bifrost.forwarding.lane import Awaited, Lane
from bifrost.session.in_flight import InFlight
from bifrost.session.topics.inquiry import Inquiry
from bifrost.wire.api_keys import ApiKey
from support.physical_names import physical_name, prefix_of
from support.stage import messages
from support.stage.lanes import names_of, new_lane
from support.stage.playbook import request_frame
from support.stage.stage import Stage


class Question(Inquiry):
    def ask(self, lane: Lane, frame: bytes, version: int) -> bytes:
        self._begin(lane, frame)
        (found,) = self._ask(messages.MetadataRequest(topics=[]), version)
        return bytes(found)

    def receive(self, frame: bytes, awaited: Awaited) -> list[bytes]:
        self._answered(awaited)
        return []


@pytest.fixture
def lane() -> Lane:
    return new_lane(ApiKey.METADATA, 12)


@pytest.mark.parametrize("version", [4, 8, 9, 13])
@pytest.mark.parametrize(
    ("client_id", "shown", "is_namespaced"),
    [
        (b"app", b"app", False),
        (None, None, False),
        (b"app", physical_name("acme", "app").encode(), True),
        (None, prefix_of("acme").encode(), True),
    ],
)
def test_it_asks_in_the_name_of_the_client(
    version: int, client_id: bytes | None, shown: bytes | None, is_namespaced: bool
) -> None:
    namespace, in_flight = Stage(namespaces_client_ids=is_namespaced).namespaces["acme"], InFlight()
    question, lane = Question(namespace, in_flight), new_lane(ApiKey.METADATA, 12, names=names_of(namespace))
    request = messages.MetadataRequest(topics=[])

    asked = question.ask(lane, request_frame(request, 12, 77, client_id), version)

    assert asked[4:] == request_frame(request, version, 77, shown)
    assert question.is_under_way
    assert [one.correlation_id for one in in_flight.queue] == [77]


def test_its_answer_is_awaited_and_counts_as_a_request_in_flight(lane: Lane) -> None:
    in_flight = InFlight()
    question = Question(Stage().namespaces["acme"], in_flight)
    question.ask(lane, request_frame(messages.MetadataRequest(topics=[]), 12, 77), 12)
    assert lane.load.in_flight == 1

    awaited = in_flight.first()
    awaited.exchange.receive(b"", awaited)

    assert lane.load.in_flight == len(in_flight) == 0
    assert not question.is_under_way


def test_a_kind_of_inquiry_says_what_an_answer_means(lane: Lane) -> None:
    question = Inquiry(Stage().namespaces["acme"], InFlight())

    with pytest.raises(NotImplementedError):
        question.receive(b"", Awaited(1, lane, question))
