"""What records cost the brokers, by which the brokers' CPU time in an attack is judged.

Two loads are measured: records of 100 bytes in a request each, and records of 1 KiB in batches of 64 KiB. Between them
they say what a request costs and what a MiB does; what an attack may cost is that of as many requests and bytes.
"""

from bench.hostile.arsenal import ATTACKS
from bench.hostile.outcome import RecordsCost
from bench.hostile.trial import Trial

MIB = 1 << 20
SMALL, LARGE = "records-small", "records-large"


def measure_records(trial: Trial) -> RecordsCost:
    """Measure both loads, each once for the brokers to compile what they need and once in earnest."""
    found = []
    for name in (SMALL, LARGE, SMALL, LARGE):
        outcome = trial.run(ATTACKS[name])
        found.append((outcome.sent.answers, outcome.sent.bytes / MIB, max(outcome.used.broker_cpu_s, 0.0)))
    return solve(*found[2:])


def solve(small: tuple[float, float, float], large: tuple[float, float, float]) -> RecordsCost:
    """Return the costs of a request and of a MiB that explain both loads: (requests, MiB, CPU seconds).

    The small ones are all request; what the large ones cost beyond their requests is for their bytes.
    """
    (requests, _, cpu_s), (more_requests, mib, more_cpu_s) = small, large
    per_request_s = cpu_s / requests
    return RecordsCost(per_request_s, max(more_cpu_s - per_request_s * more_requests, 0.0) / mib)
