"""All operations of the state machine; the first is what there is to do when there is no topic."""

from __future__ import annotations

from support.random_admin_operations import ADMIN_OPERATIONS
from support.random_group_operations import GROUP_OPERATIONS
from support.random_operations import RECORD_OPERATIONS
from support.random_transaction_operations import TRANSACTION_OPERATIONS

OPERATIONS = [*ADMIN_OPERATIONS, *RECORD_OPERATIONS, *GROUP_OPERATIONS, *TRANSACTION_OPERATIONS]
