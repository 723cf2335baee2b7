"""A real MIT key distribution center for the tests: a realm of its own, in a temporary folder, without root."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

from bifrost.embedded.child import Child
from support.gateways.gateway_process import HOST, free_ports

REALM = "BIFROST.TEST"
SERVICES = ("kafka/localhost", f"kafka/{HOST}")
"""Both names by which clients may reach a gateway; their keys are in one keytab."""
SBIN = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit")
START_TIMEOUT_S = 20.0


def what_is_missing() -> str | None:
    """Return why there can be no Kerberos here; None: there can."""
    for program in PROGRAMS:
        if shutil.which(program, path=SBIN) is None:
            return f"no program {program}"
    try:
        import gssapi  # noqa: F401
    except (ImportError, OSError):
        return "no package gssapi"
    return None


class Kdc:
    """A running center, as a context manager; its principals have keytabs instead of passwords."""

    def __init__(self, *users: str) -> None:
        self._users = users
        self._temporary = tempfile.TemporaryDirectory(prefix="bifrost-kdc-")
        self.folder = Path(self._temporary.name)
        self._child: Child | None = None

    @property
    def krb5_conf(self) -> Path:
        return self.folder / "krb5.conf"

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to find the realm, and to leave its caches here."""
        return {
            "KRB5_CONFIG": str(self.krb5_conf),
            "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf"),
            "KRB5CCNAME": f"FILE:{self.folder / 'tickets'}",
            "KRB5RCACHENAME": f"file2:{self.folder / 'replays'}",
        }

    def keytab(self, principal: str) -> Path:
        """Return the file with the keys of a user, or of `kafka`."""
        return self.folder / f"{principal.replace('/', '-')}.keytab"

    def __enter__(self) -> Self:
        port = free_ports(1)
        self._write(port)
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")
        for principal in (*SERVICES, *self._users):
            keytab = self.keytab("kafka" if principal in SERVICES else principal)
            self._run("kadmin.local", "-q", f"addprinc -randkey {principal}@{REALM}")
            self._run("kadmin.local", "-q", f"ktadd -k {keytab} {principal}@{REALM}")
        environment = {**os.environ, **self.environment}
        command = [str(shutil.which("krb5kdc", path=SBIN)), "-n"]
        self._child = Child(command, log_file=self.folder / "out", env=environment)
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            assert self._child.exit_status() is None, self._child.log()
            try:
                socket.create_connection((HOST, port), 1).close()
                return self
            except OSError:
                assert time.monotonic() < deadline, self._child.log()
                time.sleep(0.05)

    def __exit__(self, *_: object) -> None:
        if self._child is not None:
            self._child.stop()
        self._temporary.cleanup()

    def log_in(self, user: str) -> None:
        """Get a ticket for a user, into the cache that `environment` names."""
        self._run("kinit", "-k", "-t", str(self.keytab(user)), f"{user}@{REALM}")

    def _run(self, program: str, *arguments: str) -> None:
        found = shutil.which(program, path=SBIN)
        assert found is not None, program
        environment = {**os.environ, **self.environment}
        done = subprocess.run(
            [found, *arguments], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"

    def _write(self, port: int) -> None:
        self.krb5_conf.write_text(
            f"""[libdefaults]
 default_realm = {REALM}
 dns_lookup_kdc = false
 dns_lookup_realm = false
 rdns = false
 dns_canonicalize_hostname = false
 udp_preference_limit = 1
[realms]
 {REALM} = {{
  kdc = {HOST}:{port}
 }}
[domain_realm]
 localhost = {REALM}
 {HOST} = {REALM}
""",
            encoding="utf-8",
        )
        (self.folder / "kdc.conf").write_text(
            f"""[kdcdefaults]
 kdc_listen = {HOST}:{port}
 kdc_tcp_listen = {HOST}:{port}
[realms]
 {REALM} = {{
  database_name = {self.folder / "principal"}
  key_stash_file = {self.folder / "stash"}
  acl_file = {self.folder / "acl"}
  max_life = 1h
 }}
[logging]
 kdc = FILE:{self.folder / "kdc.log"}
""",
            encoding="utf-8",
        )
