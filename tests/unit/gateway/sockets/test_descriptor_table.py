import os
import resource
import subprocess
import sys

from bifrost.gateway.sockets.descriptor_table import OTHERS, make_room


def table_size(connections: int) -> tuple[int, int]:
    """Return what a new process says there is room for, and for how many there is (Linux: FDSize)."""
    code = (
        "from bifrost.gateway.sockets.descriptor_table import make_room\n"
        f"most = make_room({connections})\n"
        "size = next(one for one in open('/proc/self/status') if one.startswith('FDSize:'))\n"
        "print(most, size.split()[1])\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    most, size = map(int, found.stdout.split())
    return most, size


def test_the_table_has_room_for_all_connections_and_keeps_it() -> None:
    most, size = table_size(1000)

    assert most == 2 * 1000 + OTHERS
    assert size >= most


def test_there_is_no_more_room_than_the_process_may_have() -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most, size = table_size(10**9)

    assert most == soft
    assert size >= soft


def test_no_descriptor_is_left_open_or_closed() -> None:
    before = os.listdir("/proc/self/fd")
    make_room(1000)

    assert os.listdir("/proc/self/fd") == before
