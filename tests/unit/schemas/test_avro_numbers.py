import io

import pytest
from fastavro import schemaless_writer

from bifrost.schemas.avro_numbers import long_of, read_long


@pytest.mark.parametrize("number", [0, -1, 1, 63, 64, -64, -65, 300, 2**31, -(2**31), 2**63 - 1, -(2**63)])
def test_a_number_is_written_as_avro_has_it(number: int) -> None:
    out = io.BytesIO()
    schemaless_writer(out, {"type": "long"}, number)

    assert long_of(number) == out.getvalue()
    assert read_long(b"x" + out.getvalue() + b"\xff", 1) == (number, 1 + len(out.getvalue()))
