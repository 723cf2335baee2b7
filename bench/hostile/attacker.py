"""The attacker's process, at the lowest priority: `python -m bench.hostile.attacker TARGET.json ATTACK`.

It says `ready` when all is prepared, begins when it reads a line, and ends with what it has done, as JSON.
"""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from bench.hostile.arsenal import ATTACKS
from bench.hostile.field import Field, Target
from bench.memory import raise_descriptor_limit
from bench.priority import LOWEST_PRIORITY, give_way

NICE = int(os.environ.get("HOSTILE_NICE", LOWEST_PRIORITY))
"""The attacker's priority. On a machine that others keep busy it would hardly ever run: give a smaller number there."""


def main() -> int:
    give_way(NICE)
    raise_descriptor_limit()
    field = Field(Target.read(Path(sys.argv[1])))
    work = ATTACKS[sys.argv[2]].run(field)
    next(work)
    print("ready", flush=True)
    if not sys.stdin.readline():
        return 1
    field.begin()
    for _ in work:
        pass
    print(json.dumps(asdict(field.end())), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
