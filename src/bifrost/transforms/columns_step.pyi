"""A transform of columns as a step: see columns_step.pyx."""

from bifrost.transforms.batch_step import BatchStep
from bifrost.transforms.record_transform import Direction, RecordTransform

class ColumnsStep(BatchStep):
    """Takes batches along one transform, which makes no object for a record."""

    def __init__(self, transform: RecordTransform, direction: Direction) -> None: ...
