"""What the state machine draws from; the first operation is what there is to do when there is no topic."""

from __future__ import annotations

from support.random.random_admin_operations import ADMIN_OPERATIONS
from support.random.random_group_operations import GROUP_OPERATIONS
from support.random.random_operations import RECORD_OPERATIONS
from support.random.random_transaction_operations import TRANSACTION_OPERATIONS

_WEIGHTED = [*ADMIN_OPERATIONS, *RECORD_OPERATIONS, *GROUP_OPERATIONS, *TRANSACTION_OPERATIONS]

OPERATIONS = [operation for weight, operation in _WEIGHTED for _ in range(weight)]
"""Each as often as it is to be drawn among the others."""
