"""A Kerberos realm of the tests' own on this machine: MIT's KDC as an ordinary process, the system's files untouched.

Debian has the programs as krb5-kdc, krb5-admin-server and krb5-user; PyPI's gssapi needs libkrb5-dev as well.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Self

from bifrost.embedded.child import Child
from support.gateway_process import HOST, free_ports

REALM = "BIFROST.TEST"
START_TIMEOUT_S = 20.0
_PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local")
_SYSTEM_FOLDERS = "/usr/sbin:/sbin"


def why_not() -> str:
    """Return why there can be no realm on this machine; empty if there can."""
    missing = [name for name in _PROGRAMS if _program(name) is None]
    if missing:
        return f"no {', '.join(missing)}: install krb5-kdc and krb5-admin-server"
    if importlib.util.find_spec("gssapi") is None:
        return "the library gssapi is not installed: pip install 'bifrost-kafka[gssapi]'"
    return ""


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:{_SYSTEM_FOLDERS}")


class KerberosRealm:
    """A running KDC with the principals one asks for, as a context manager."""

    def __init__(self, directory: Path, *principals: str) -> None:
        """Describe it.

        Args:
            directory: an empty one.
            principals: without the realm; each gets a keytab.
        """
        self._directory = directory
        self._principals = principals
        self._child: Child | None = None
        self.configuration = directory / "krb5.conf"
        """What clients and the broker are told of it (KRB5_CONFIG)."""

    def __enter__(self) -> Self:
        port = free_ports(1)
        self.configuration.write_text(_client_configuration(port), encoding="utf-8")
        (self._directory / "kdc.conf").write_text(
            _server_configuration(self._directory, port), encoding="utf-8"
        )
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")
        for principal in self._principals:
            self._run("kadmin.local", "-q", f"addprinc -randkey {principal}@{REALM}")
            self._run("kadmin.local", "-q", f"ktadd -k {self.keytab(principal)} {principal}@{REALM}")
        command = [str(_program("krb5kdc")), "-n"]
        self._child = Child(command, log_file=self._directory / "kdc.out", env=self._environment())
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                socket.create_connection((HOST, port), 1).close()
                return self
            except OSError:
                assert self._child.exit_status() is None, self._child.log()
                assert time.monotonic() < deadline, self._child.log()
                time.sleep(0.02)

    def __exit__(self, *_: object) -> None:
        if self._child is not None:
            self._child.stop()

    def keytab(self, principal: str) -> Path:
        """Return the file of a principal's keys."""
        return self._directory / f"{principal.replace('/', '-')}.keytab"

    def _environment(self) -> dict[str, str]:
        own = {"KRB5_CONFIG": str(self.configuration), "KRB5_KDC_PROFILE": str(self._directory / "kdc.conf")}
        return {**os.environ, **own}

    def _run(self, name: str, *arguments: str) -> None:
        command = [str(_program(name)), *arguments]
        subprocess.run(command, env=self._environment(), check=True, capture_output=True, timeout=30)


def _client_configuration(port: int) -> str:
    return f"""[libdefaults]
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
"""


def _server_configuration(directory: Path, port: int) -> str:
    return f"""[kdcdefaults]
 kdc_listen = {HOST}:{port}
 kdc_tcp_listen = {HOST}:{port}
[realms]
 {REALM} = {{
  database_name = {directory}/principal
  key_stash_file = {directory}/stash
  acl_file = {directory}/kadm5.acl
  max_life = 1h
 }}
[logging]
 kdc = FILE:{directory}/kdc.log
"""
