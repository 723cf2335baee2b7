"""Steps of transforms in compiled code: see batch_step.pyx."""

class BatchStep:
    """What one transform does to the batches of one partition where there is nothing to decide."""

    @property
    def name(self) -> str:
        """What the operator knows the transform by."""

    @property
    def makes_batches(self) -> bool:
        """Whether the batches behind it are others; if not, it only decides whether they pass."""

    @property
    def cost(self) -> int:
        """How many times as long it takes as to seal a batch whole."""
