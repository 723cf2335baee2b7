"""Not an attack: sends as many bytes over as many connections as one did, at the same pace. The control."""

import json
import socket
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from bench.certificates import HOST
from bench.hostile.attack import attack
from bench.hostile.field import BUCKET_S, Field

MOST_OPEN = 400
"""Connections at a time; the oldest is closed for the next one."""
OVERTIME = 2.0
"""How many times as long as the attack was meant to take, at most."""


@attack("the same bytes at the same pace", is_listed=False)
def replay(field: Field) -> Iterator[None]:
    pace = json.loads(Path(field.target.pace_file).read_text())
    zeros = bytes(1 << 20)
    lines: deque[socket.socket] = deque()
    yield
    began = time.monotonic()
    for at, opened, size in pace:
        due_s = at * BUCKET_S
        if due_s > OVERTIME * field.target.seconds:
            break
        time.sleep(max(began + due_s - time.monotonic(), 0))
        for _ in range(max(opened, 0 if lines else 1)):
            lines.append(socket.create_connection((HOST, field.target.plain_port), 10))
            if len(lines) > MOST_OPEN:
                lines.popleft().close()
        number = 0
        left = size
        while left > 0:
            part = min(left, len(zeros))
            lines[number % len(lines)].sendall(zeros[:part] if part < len(zeros) else zeros)
            left -= part
            number += 1
    for line in lines:
        line.close()
