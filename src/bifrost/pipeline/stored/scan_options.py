"""What a job over stored batches reads, and where its answer is written; every job that only reads has these."""

from dataclasses import dataclass

from bifrost.pipeline.stored.client_settings import ClientSettings


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """Brokers, topics and times."""

    settings: ClientSettings
    out: str
    topics: tuple[str, ...] = ()
    """By their physical names."""
    patterns: tuple[str, ...] = ()
    """Regular expressions that whole names match. What is read with neither the job says."""
    since_ms: int | None = None
    until_ms: int | None = None
