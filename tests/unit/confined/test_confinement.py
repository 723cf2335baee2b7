import subprocess
import sys

CODE = """
import resource, sys
from bifrost.confined.confinement import confine
confine(64 << 20)
for what in ("CORE", "FSIZE", "NOFILE"):
    print(what, *resource.getrlimit(getattr(resource, f"RLIMIT_{what}")))
kept = bytes(32 << 20)
try:
    more = bytes(64 << 20)
except MemoryError:
    print("no more memory")
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(status["NoNewPrivs"].strip())
"""


def test_a_process_has_bounds() -> None:
    found = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)

    assert found.stdout.splitlines() == ["CORE 0 0", "FSIZE 0 0", "NOFILE 64 64", "no more memory", "1"]
