"""How a budget is divided among the gateways that have it together.

Source: max-min fairness, as links are shared (Bertsekas and Gallager, Data Networks, 6.5.2).
"""

from collections.abc import Sequence

WHOLE = 60_000
"""The whole of a budget, in parts: a share of it fits into 16 bits, and the least share is still some parts."""

FLOORS = 50
"""The gateways that want nothing have one in 50 parts of a budget, all together, so that a client can start there."""


def floor_of(members: int) -> int:
    """Return the least share, in parts."""
    return max(1, WHOLE // FLOORS // members)


def divide(demands: Sequence[int]) -> list[int]:
    """Return the shares of the members, in parts: no more than WHOLE together.

    The smaller a demand is, the sooner it is met in full; what is left is divided equally among those who want more,
    and what none wants among all.

    Args:
        demands: what each member wants, in parts, by its ID; WHOLE is as much as there is. At most WHOLE of them.
    """
    if not demands:
        return []
    floor = floor_of(len(demands))
    wanted = [max(floor, min(one, WHOLE)) for one in demands]
    shares, left = [0] * len(wanted), WHOLE
    for met, member in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        shares[member] = min(wanted[member], left // (len(wanted) - met))
        left -= shares[member]
    spare = left // len(wanted)
    return [one + spare for one in shares]
