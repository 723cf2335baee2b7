import subprocess
import sys

import pytest

READ = """
import ctypes, resource
from bifrost.keys.core_dumps import forbid_core_dumps
dumpable = lambda: ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)
before = dumpable()
forbid_core_dumps()
forbid_core_dumps()
print(before, dumpable(), resource.getrlimit(resource.RLIMIT_CORE)[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_DUMPABLE is Linux's")
def test_no_core_file_of_the_process_is_written_any_more() -> None:
    done = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["1", "0", "0"]
