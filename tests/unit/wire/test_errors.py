import pickle

from bifrost.wire.errors import EncodeError, FrameTooLarge, MalformedFrame, WireError


def test_a_wire_error_tells_what_and_where():
    error = MalformedFrame("frame ends within a field", 17)

    assert isinstance(error, WireError)
    assert (error.reason, error.offset) == ("frame ends within a field", 17)
    assert str(error) == "frame ends within a field at byte 17"


def test_a_frame_too_large_tells_its_size_and_the_limit():
    error = FrameTooLarge(-3, 1024, 40)

    assert isinstance(error, WireError)
    assert (error.size, error.limit, error.offset) == (-3, 1024, 40)
    assert str(error) == "frame length -3 is not within 1..1024 at byte 40"


def test_wire_errors_survive_the_way_to_another_process():
    for error in (
        MalformedFrame("null", 3),
        FrameTooLarge(9, 8, 7),
        EncodeError("FetchRequest.max_bytes is None"),
    ):
        copy = pickle.loads(pickle.dumps(error))

        assert type(copy) is type(error)
        assert str(copy) == str(error)
        assert copy.__dict__ == error.__dict__
