"""Executors of jobs over stored batches load codec, encryption and transforms, and nothing of the gateway."""

import subprocess
import sys

CODE = """
import sys
import bifrost.pipeline.stored.stored_topics
import bifrost.pipeline.jobs.rekey
import bifrost.pipeline.jobs.transform
import bifrost.pipeline.stored.validating.schema_breaks
data_plane = ("gateway", "session", "forwarding", "filters", "tenancy", "cli", "state", "journal")
names = tuple(f"bifrost.{room}" for room in data_plane)
print(*sorted(one for one in sys.modules if one.startswith(names)))
"""


def test_nothing_of_the_data_plane_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "\n", "")


VIRTUAL = """
import sys
import bifrost.pipeline.stored.virtual.key_owners
import bifrost.pipeline.stored.virtual.virtual_owners
data_plane = ("gateway", "session", "forwarding", "filters", "tenancy", "cli", "state", "journal")
names = tuple(f"bifrost.{room}." for room in data_plane)
print(*sorted({".".join(one.split(".")[:3]) for one in sys.modules if one.startswith(names)}))
"""


def test_of_virtual_partitions_what_marks_a_batch_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", VIRTUAL], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "bifrost.tenancy.virtual_partitions\n")
