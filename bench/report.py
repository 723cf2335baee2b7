"""The table, and whether the limits are kept."""

from dataclasses import dataclass, field
from statistics import median

from bench.measure import Sample
from bench.memory import Memory

PRODUCE_LIMIT_S_PER_GIB = 0.6
CONSUME_LIMIT_S_PER_GIB = 0.5
REQUEST_LIMIT_US = 30.0
RESIDENT_LIMIT_MIB = 60.0


@dataclass
class Row:
    """One workload: the rounds of each subject, by its name. The rounds of one index were run side by side."""

    name: str
    limit: float | None
    rounds: dict[str, list[Sample]] = field(default_factory=dict)

    def ratio(self) -> float:
        """Return the gateway's throughput, as a share of the direct way's in the same round."""
        pairs = zip(self.rounds["gateway"], self.rounds["direct"], strict=True)
        return median(ours.requests_per_s / direct.requests_per_s for ours, direct in pairs)

    def bulk_cpu(self, subject: str) -> list[float]:
        """Return CPU seconds per GiB, of each round."""
        return [sample.cpu_s_per_gib for sample in self.rounds[subject]]

    def request_cpu(self, subject: str) -> list[float]:
        """Return CPU microseconds per request, of each round."""
        return [sample.cpu_us_per_request for sample in self.rounds[subject]]

    def latency(self, subject: str, share: float) -> float:
        """Return a percentile of all rounds' latencies, in microseconds; `share` of 0.99 is the 99th."""
        all_us = sorted(one for sample in self.rounds[subject] for one in sample.latencies_us)
        return all_us[int(len(all_us) * share)]


class Report:
    """Prints as it goes, and remembers what was missed."""

    def __init__(self) -> None:
        self.missed: list[str] = []

    def bulk(self, title: str, rows: list[Row]) -> None:
        """Print rows measured by bytes."""
        others = [name for name in rows[0].rounds if name not in ("direct", "gateway")]
        print(f"\n{title}: CPU s per GiB, median (least) of {len(rows[0].rounds['gateway'])} rounds")
        heads = [*(f"{name:>14}" for name in others), f"{'gateway':>14}", f"{'limit':>6}"]
        print(f"{'':24}", *heads, "  MiB/s: direct gateway ratio")
        for row in rows:
            cells = [_spread(row.bulk_cpu(name), 2) for name in (*others, "gateway")]
            speeds = [median(one.mib_per_s for one in row.rounds[name]) for name in ("direct", "gateway")]
            limit = self._limit(row.name, row.bulk_cpu("gateway"), row.limit, "s/GiB")
            print(f"{row.name:24}", *cells, limit, f"{speeds[0]:14.0f} {speeds[1]:7.0f} {row.ratio():5.2f}")

    def requests(self, title: str, rows: list[Row]) -> None:
        """Print rows measured by requests."""
        others = [name for name in rows[0].rounds if name not in ("direct", "gateway")]
        print(f"\n{title}: CPU µs per request, median (least) of {len(rows[0].rounds['gateway'])} rounds")
        has_latency = bool(rows[0].rounds["gateway"][0].latencies_us)
        tail = (
            "  latency µs, direct: p50  p99  gateway: p50  p99"
            if has_latency
            else "  1/s: direct gateway ratio"
        )
        heads = [*(f"{name:>14}" for name in others), f"{'gateway':>14}", f"{'limit':>6}"]
        print(f"{'':24}", *heads, tail)
        for row in rows:
            cells = [_spread(row.request_cpu(name), 1) for name in (*others, "gateway")]
            limit = self._limit(row.name, row.request_cpu("gateway"), row.limit, "µs")
            if has_latency:
                direct, ours = (
                    [row.latency(name, share) for share in (0.5, 0.99)] for name in ("direct", "gateway")
                )
                rest = f"{direct[0]:24.0f} {direct[1]:4.0f} {ours[0]:13.0f} {ours[1]:4.0f}"
            else:
                speeds = [
                    median(one.requests_per_s for one in row.rounds[name]) for name in ("direct", "gateway")
                ]
                rest = f"{speeds[0]:13.0f} {speeds[1]:7.0f} {row.ratio():5.2f}"
            print(f"{row.name:24}", *cells, limit, rest)

    def journal(self, unit: str, rows: list[tuple[str, list[list[float]]]]) -> None:
        """Print what the gateway costs without and with its journal."""
        print(f"\n{unit:24}       without          with   ratio   (median, least)")
        for name, (without, with_it) in rows:
            ratio = median(with_it) / median(without)
            print(f"{name:24}{_spread(without, 2)}{_spread(with_it, 2)}{ratio:8.2f}")

    def memory(self, memory: Memory) -> None:
        """Print what is resident."""
        limit = self._limit("resident memory", [memory.working_mib], RESIDENT_LIMIT_MIB, "MiB").strip()
        print("\nresident memory of the gateway")
        print(f"{memory.start_mib:8.1f} MiB  after its start")
        print(f"{memory.working_mib:8.1f} MiB  with ten connections, after the load (limit {limit})")
        print(f"{memory.peak_mib:8.1f} MiB  at most, ever")
        if memory.per_authenticated_kib is None:
            print("         too few file descriptors for 1,000 connections")
        else:
            print(f"{memory.per_authenticated_kib:8.1f} KiB  per authenticated idle connection, of 1,000")
            print(
                f"{memory.per_used_kib:8.1f} KiB  per idle connection that has a broker connection behind it"
            )

    def _limit(self, name: str, values: list[float], limit: float | None, unit: str) -> str:
        if limit is None:
            return f"{'-':>6}"
        if median(values) > limit:
            self.missed.append(f"{name}: {median(values):.2f} {unit}, the limit is {limit:g}")
            return f"{limit:>5g}!"
        return f"{limit:>6g}"


def _spread(values: list[float], digits: int) -> str:
    return f"{median(values):.{digits}f} ({min(values):.{digits}f})".rjust(14)
