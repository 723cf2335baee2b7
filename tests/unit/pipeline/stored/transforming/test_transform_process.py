from collections.abc import Callable

import pytest

from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.stored.transforming import transform_process
from bifrost.pipeline.stored.transforming.transform_process import TransformFile, TransformProcess
from bifrost.records.codec.client_batch import as_batch
from bifrost.records.codec.columns import ColumnRecord, Columns
from bifrost.transforms.record_transform import Direction, Failure
from bifrost.transforms.user.python_transform import Given, RunSpec, UserRun
from support.records.record_columns import batch_of

RECORDS = [ColumnRecord(0, 0, b"k", b"a", ((b"h", None),)), ColumnRecord(1, 9, None, None)]
TEXT = """\
import os, time
def transform(batch, context):
    value = batch.column("value")[0].as_py()
    if value == b"raise":
        raise ValueError(value)
    if value == b"sleep":
        time.sleep(60)
    if value == b"exit":
        os._exit(1)
    if value == b"big":
        bytearray(1 << 34)
    if value == b"look":
        raise (KeyError if {*os.environ} - {"LC_CTYPE"} or os.getcwd() != "/" else IndexError)
    return batch if context.topic == "orders" and context.base_offset == 40 else None
"""


def run_of(value: bytes = b"a", direction: Direction = Direction.FETCH) -> UserRun:
    records = [RECORDS[0]._replace(value=value), RECORDS[1]]
    batch = as_batch(batch_of(records, base_offset=40))
    spec = RunSpec("acme", "f", "f", None, 0, 0)
    return UserRun(spec, "orders", direction, b"", Given(batch, Columns.of(records)))


Run = Callable[[UserRun], Columns | Failure]


@pytest.fixture
def process() -> TransformProcess:
    return TransformProcess(TransformFile("mine.py", TEXT, 30_000, 64 << 20))


def test_batches_come_back_and_failures_are_told_without_content(process: TransformProcess) -> None:
    with process:
        found = process.run(run_of())
        assert isinstance(found, Columns)
        assert found.records() == RECORDS
        for value, said in (
            (b"raise", "ValueError in line 5 of mine.py"),
            (b"look", "IndexError in line 13 of mine.py"),
            (b"big", "MemoryError in line 11 of mine.py"),
            (b"exit", "its process ended"),
        ):
            assert process.run(run_of(value)) == Failure(f"the transform failed: {said}", is_retriable=False)
        assert isinstance(process.run(run_of()), Columns)
        wrong = process.run(run_of(direction=Direction.PRODUCE))
        assert isinstance(wrong, Failure)
        assert "no pyarrow.RecordBatch" in wrong.reason


def test_a_batch_that_takes_too_long_is_given_up() -> None:
    with TransformProcess(TransformFile("mine.py", TEXT, 300, 64 << 20)) as process:
        assert isinstance(process.run(run_of(b"sleep")), Failure)
        assert process.run(run_of(b"sleep")) == Failure(
            "the transform failed: it took longer than 300 ms", is_retriable=False
        )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "mine.py has no function transform"),
        ("import none_such", "ModuleNotFoundError in line 1 of mine.py"),
        ("import os\nos._exit(1)", "its process ended"),
    ],
)
def test_a_file_that_cannot_be_loaded_ends_the_task(text: str, said: str) -> None:
    file = TransformFile("mine.py", text, 1_000, 64 << 20)
    with TransformProcess(file) as process, pytest.raises(PipelineError, match=said) as caught:
        process.run(run_of())
    assert "\n" not in str(caught.value)
    assert "bifrost-transform" not in str(caught.value)


def test_an_answer_may_have_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transform_process, "MAX_ANSWER_BYTES", 10)
    text = "def transform(batch, context): return batch"
    with TransformProcess(TransformFile("mine.py", text, 30_000, 64 << 20)) as process:
        assert isinstance(process.run(run_of()), Failure)
