"""What a load goes through: nothing, an L4 relay, the gateway, another proxy; and what its process uses."""

import contextlib
import ssl
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bench.certificates import HOST
from bench.client import RawClient
from bifrost.tenancy.names import TenantNames, VirtualTopic

PLAINTEXT, TLS = "PLAINTEXT", "TLS"
PROTOCOLS = (PLAINTEXT, TLS)
COMPILERS = "C1 Compiler", "C2 Compiler"
"""How the names of a JVM's compiler threads begin."""
DIRECT, RELAY, GATEWAY = "direct", "relay", "gateway"


@dataclass(frozen=True)
class Space:
    """Whose connection it is, and what topics and groups are called on it."""

    tenant: str
    """Whose topics are used. At the broker they carry its prefix, on every way."""
    credentials: tuple[str, str] | None = None
    is_virtual: bool = False
    """Whether the way translates names."""

    def called(self, name: str) -> str:
        """Return what a topic or group is called on this way."""
        return name if self.is_virtual else physical(self.tenant, name)


def physical(tenant: str, name: str) -> str:
    """Return what a tenant's topic or group is called at the broker."""
    return TenantNames(tenant).physical_topic(VirtualTopic(name.encode())).decode()


@dataclass
class Subject:
    """One way to the broker."""

    name: str
    port: int
    spaces: list[Space]
    """The connections take turns in them, by their numbers."""
    pid: int | None = None
    """The process in between; None for the direct way."""
    host: str = HOST
    bootstrap_port: int = 0
    """Where real clients begin; 0 for `port`."""
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    ca_file: Path | None = None
    """The same for librdkafka: who signed the certificate of a way with TLS."""
    follows_addresses: bool = True
    """Whether a real client, which connects to the addresses in the metadata, stays on this way."""
    tenants: int = 1
    makes_own_topics: bool = False
    """Whether it calls topics what it likes, so that they are made through it."""

    @property
    def protocol(self) -> str:
        """PLAINTEXT or TLS, on the client's side."""
        return PLAINTEXT if self.tls is None else TLS

    def space(self, number: int) -> Space:
        """Return what the connection of this number uses."""
        return self.spaces[number % len(self.spaces)]

    def connect(self, number: int = 0) -> RawClient:
        """Open a connection, authenticated where it must be."""
        return RawClient(self.host, self.port, self.space(number).credentials, self.tls)

    def cpu_s(self) -> float:
        """Return the CPU time that the process has used, in seconds."""
        return 0.0 if self.pid is None else cpu_s_of(self.pid)

    def resident_mib(self) -> float:
        """Return the process's resident memory, in MiB."""
        return psutil.Process(self.pid).memory_info().rss / 2**20

    def peak_mib(self) -> float:
        """Return the most that was ever resident, in MiB."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
        raise RuntimeError("no VmHWM in /proc/<pid>/status")


def compiler_cpu_s_of(pid: int) -> float:
    """Return the CPU time of the threads in which a JVM compiles (C1 and C2), in seconds.

    Source: schedstat of proc_pid(5): the first number, in nanoseconds.
    """
    spent_ns = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):  # Threads end.
            if (thread / "comm").read_text().startswith(COMPILERS):
                spent_ns += int((thread / "schedstat").read_text().split()[0])
    return spent_ns / 1e9


def cpu_s_of(pid: int) -> float:
    """Return the CPU time that a process has used, user and system of all threads, in seconds.

    Source: MAKE_PROCESS_CPUCLOCK and CPUCLOCK_SCHED of include/linux/posix-timers.h; it counts in nanoseconds,
    where /proc/<pid>/stat counts in hundredths of a second.
    """
    return time.clock_gettime((~pid << 3) | 2)
