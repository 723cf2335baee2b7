"""A gateway before brokers that want to know who it is: its configuration is that of the tests, changed by each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from support.brokers.secure_kafka import USERS
from support.gateways.gateway_process import ACME, GLOBEX, GatewayProcess, TenantSpec


class SecuredGateway(GatewayProcess):
    """A gateway with an `upstream` section of the caller's."""

    def __init__(
        self,
        directory: Path,
        upstream: str,
        security: Mapping[str, Any],
        *,
        tenants: Sequence[TenantSpec] = (ACME, GLOBEX),
        accounts: Mapping[str, Mapping[str, Any]] | None = None,
        users: Mapping[str, Sequence[str]] | None = None,
        **options: Any,
    ) -> None:
        """Describe a gateway.

        Args:
            directory: an empty one.
            upstream: a bootstrap address.
            security: what else stands in the section `upstream`.
            tenants: the tenants.
            accounts: `upstream_sasl` by tenant or, for a user of its, by user name.
            users: further users by tenant, each with the password `<user>-pw`.
            options: those of every gateway.
        """
        super().__init__(directory, upstream, tenants=tenants, **options)
        self._security = dict(security)
        self._accounts = accounts or {}
        self._users = users or {}

    def _write_configuration(self) -> None:
        super()._write_configuration()
        file = self.directory / "proxy.yaml"
        configuration = yaml.safe_load(file.read_text(encoding="utf-8"))
        configuration["upstream"] |= self._security
        for tenant in configuration["tenants"]:
            credentials = tenant["auth"]["credentials"]
            for user in self._users.get(tenant["name"], ()):
                credentials.append({"username": user, "password_file": f"secrets/{user}.client-password"})
                (self.directory / f"secrets/{user}.client-password").write_text(
                    f"{user}-pw", encoding="utf-8"
                )
                if user in self._accounts:
                    credentials[-1]["upstream_sasl"] = dict(self._accounts[user])
            if tenant["name"] in self._accounts:
                tenant["upstream_sasl"] = dict(self._accounts[tenant["name"]])
        for user, password in USERS.items():
            (self.directory / f"secrets/broker-{user}.password").write_text(password, encoding="utf-8")
        file.write_text(yaml.safe_dump(configuration), encoding="utf-8")


StartSecured = Callable[..., SecuredGateway]


def account(user: str, mechanism: str | None = "SCRAM-SHA-512") -> dict[str, str]:
    """Return the account of a user at the brokers of the tests; without a mechanism it names none."""
    named = {} if mechanism is None else {"mechanism": mechanism}
    return {**named, "username": user, "password_file": f"secrets/broker-{user}.password"}
