"""What PythonTransform does: which function of the operator's own changes records, and what bounds it."""

from pydantic import Field

from bifrost.config.records.fail_mode import FailureConfig, check_failure
from bifrost.config.values import DurationMs, SizeBytes, Text


class PythonTransformConfig(FailureConfig):
    """What PythonTransform runs."""

    transform_file: Text | None = Field(default=None, examples=["transforms/orders.py"])
    """Of `PythonTransform`: Python file with a function `transform(batch, context)`; a change of the file is noticed.
    See [transforms.md](transforms.md). Default: the key is absent, and `entry_point` is given."""

    entry_point: Text | None = Field(default=None, examples=["orders"])
    """Of `PythonTransform`: name of an entry point in the group `bifrost.transforms` of an installed package, which is
    such a function. Default: the key is absent, and `transform_file` is given."""

    timeout_ms: DurationMs = Field(default=1_000, ge=10, le=60_000)
    """Of `PythonTransform`: longest time for one batch, in milliseconds. Then the process is killed, and started anew.
    Default 1 s: a batch has some thousand records, and clients wait for it."""

    max_memory_bytes: SizeBytes = Field(default=256 << 20, ge=16 << 20, le=1 << 40)
    """Of `PythonTransform`: memory that its process may have beyond what Python and Arrow take, as address space.
    Default 256 MiB: eight times the largest batch that filters read."""


def check_python_transform(config: PythonTransformConfig) -> None:
    """Check what needs more than one key.

    Raises:
        ValueError: the function is named twice, or not at all, or something is not built yet.
    """
    if (config.transform_file is None) == (config.entry_point is None):
        raise ValueError("PythonTransform needs either transform_file or entry_point")
    check_failure(config)
