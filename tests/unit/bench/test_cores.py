import os
import subprocess
import sys
import threading

import pytest
from bench.cores import core_of_its_own


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="the machine has one core")
def test_a_process_has_a_core_that_no_other_uses_meanwhile() -> None:
    cores = os.sched_getaffinity(0)
    ends = threading.Event()
    thread = threading.Thread(target=ends.wait)
    thread.start()
    assert thread.native_id is not None
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        with core_of_its_own(child.pid):
            own, others = os.sched_getaffinity(child.pid), os.sched_getaffinity(0)
            assert os.sched_getaffinity(thread.native_id) == others
        assert (own | others, len(own), own & others) == (cores, 1, set())
        assert os.sched_getaffinity(child.pid) == os.sched_getaffinity(0) == cores
        child.communicate(b"\n")
    ends.set()
    thread.join()


def test_one_core_cannot_be_shared_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})

    with pytest.raises(RuntimeError, match="there is one core"), core_of_its_own(os.getpid()):
        pass
