"""The configuration of a gateway as one typed model.

The classes here and in the modules it imports are the sections of the file, and their fields are its keys; the text
under a field is its documentation, from which `tools/configuration_page.py` writes docs/configuration.md. A `Config`
that exists is valid as a whole: `clashes.py` makes the checks that need more than one field, called here for a Config
built in Python and in `load.py`, with lines, for a file. A Config never changes after it is built. No I/O: the loader
reads the password files.
"""

from collections import Counter
from collections.abc import Iterator

from pydantic import Field, PrivateAttr, model_validator

from bifrost.config.checks.clashes import find_clashes
from bifrost.config.checks.port_clashes import MAX_LISTENER_SETS
from bifrost.config.checks.shown_values import shown
from bifrost.config.client_ids import ClientIds
from bifrost.config.fields.control import Control
from bifrost.config.fields.journal import Journal
from bifrost.config.fields.kerberos import Kerberos
from bifrost.config.fields.limits import Limits
from bifrost.config.fields.listener_sets import ListenerSet
from bifrost.config.fields.oauth import OAuth
from bifrost.config.fields.state import State
from bifrost.config.fields.tenants import Credential, Tenant
from bifrost.config.fields.upstream import Upstream
from bifrost.config.fields.virtual_partitions import PartitionIndex
from bifrost.config.files.process_settings import ProcessSettings
from bifrost.config.kept_secret import KeptSecret
from bifrost.config.policies.policy import Policy
from bifrost.config.quotas.quota_exchange import QuotaExchange
from bifrost.config.section import Section
from bifrost.config.values import DurationMs, Host, Port, Text, Workers

NO_UPSTREAM = "upstream is missing: add it, e.g. upstream: { bootstrap: [...] }"


class Admin(Section):
    """The operator's HTTP port: `/metrics` for Prometheus, `/healthz` and `/readyz` for probes."""

    bind_host: Host = "127.0.0.1"
    """Address on which the port is bound. Default `127.0.0.1`, because it shows data of all tenants without
    authentication: set an address that only operators can reach."""

    port: Port = Field(examples=["9404"])
    """TCP port of the three pages. Required."""


class Proxy(Section):
    """The gateway itself."""

    listener_sets: tuple[ListenerSet, ...] = Field(
        min_length=1, max_length=MAX_LISTENER_SETS, examples=["[...]"]
    )
    """The ways to reach the gateway, 1 to 1,000. Required."""

    admin: Admin | None = None
    """The operator's HTTP port. Default: none."""

    watch_files_ms: DurationMs = Field(default=2_000, ge=0, le=3_600_000)
    """Time between two checks of this file and those that it names, in milliseconds. When one has changed, and is the
    same at the next check, all are read again (see [operations.md](operations.md)). Default 2 s; 0 turns it off, and
    SIGHUP and `bifrost reload` remain."""

    workers: Workers = 1
    """Processes that carry the clients' connections: a number from 1 to 64, or `auto`, one for each CPU that the
    process may use (its affinity, and its cgroup's quota rounded up). Default 1. From 2 on an additional process
    accepts the connections and gives each to the worker with the least load; limits, metrics and reload apply to all
    workers together (see [operations.md](operations.md#worker-processes)). Linux only. A change needs a restart."""

    oauth: OAuth | None = None
    """Which access tokens the gateway accepts (SASL/OAUTHBEARER). Default: none."""

    kerberos: Kerberos | None = None
    """How clients prove who they are by Kerberos tickets (SASL/GSSAPI). Default: they cannot."""

    journal: Journal | None = None
    """What is recorded of tenants' usage and of events. Default: nothing."""

    state: State | None = None
    """The dynamic state that gateways share. Default: there is none."""

    quota_exchange: QuotaExchange | None = None
    """By which gateways have the budgets of quotas together. Default: each gateway has budgets of its own."""

    partition_index: PartitionIndex = PartitionIndex()
    """The index of where virtual partitions end. Default: that of each key."""

    control: Control | None = None
    """The admin HTTP API that `bifrost control` serves. Default: there is none."""

    limits: Limits = Limits()
    """Bounds on what clients may request. Default: those of each limit."""

    policy: Policy = Policy()
    """What tenants may set for topics and groups. Default: what harms no other tenant."""

    pseudonym_key_file: Text | None = Field(default=None, examples=["secrets/pseudonym.key"])
    """File that holds a secret, 16 bytes to 4 KiB, from which the gateway makes the cluster IDs and the names of log
    directories that tenants see; without it, a tenant that knows the physical cluster's ID can check guesses. It must
    be the same for all gateways of a platform. With another key every tenant sees another cluster ID. A relative path
    starts at the folder of the configuration file. A change needs a restart. Default: none; the ID of the physical
    cluster is the key."""

    pseudonym_key: KeptSecret | None = Field(default=None, repr=False)
    """The secret. Not a key of the file: the loader reads it from `pseudonym_key_file`."""


class Config(Section):
    """The whole file."""

    proxy: Proxy = Field(examples=["{ listener_sets: [...] }"])
    """The gateway itself. Required."""

    upstream: Upstream | None = None
    """The physical cluster behind the gateway. Default: the key is absent, and `upstreams` is given."""

    upstreams: tuple[Upstream, ...] | None = Field(default=None, min_length=1, max_length=64)
    """The physical clusters behind the gateway, 1 to 64, in place of `upstream` where there are several. Each
    tenant then names the one that it belongs to. Default: the key is absent, and `upstream` is given."""

    tenants: tuple[Tenant, ...] = Field(min_length=1, examples=["[...]"])
    """The tenants, at least one. Required."""

    _process: ProcessSettings | None = PrivateAttr(default=None)
    """What the files say to the process that reads them; see `process`."""

    @model_validator(mode="after")
    def _check_clashes(self) -> "Config":
        if not self.clusters:
            raise ValueError(NO_UPSTREAM)
        clashes = find_clashes(shown(self))
        if clashes:
            raise ValueError("; ".join(clash.text for clash in clashes))
        return self

    @property
    def process(self) -> ProcessSettings | None:
        """What the files say to the process that reads them; None: they are not of a partition remapper."""
        return self._process

    def with_process(self, settings: ProcessSettings) -> "Config":
        """Return this configuration with what its files say to the process."""
        changed = self.model_copy()
        changed._process = settings
        return changed

    @property
    def clusters(self) -> tuple[Upstream, ...]:
        """The physical clusters, however the file gives them."""
        return self.upstreams or ((self.upstream,) if self.upstream else ())

    def cluster_of(self, tenant: Tenant) -> Upstream:
        """Return the physical cluster that a tenant belongs to."""
        return next(one for one in self.clusters if tenant.upstream in (None, one.name))

    def tenants_of(self, upstream: Upstream) -> tuple[Tenant, ...]:
        """Return the tenants that belong to a physical cluster."""
        return tuple(one for one in self.tenants if self.cluster_of(one) is upstream)

    def namespaced_client_ids(self) -> frozenset[str]:
        """Return the names of the tenants whose client IDs have a prefix at the brokers."""
        found = set()
        for upstream in self.clusters:
            tenants = self.tenants_of(upstream)
            users = Counter(account for tenant in tenants for account in set(tenant.upstream_accounts))
            if upstream.sasl is not None:
                users[upstream.sasl.account] += 1
            for tenant in tenants:
                has_own = tenant.upstream_sasl is not None
                is_apart = has_own and all(users[account] == 1 for account in tenant.upstream_accounts)
                default = ClientIds.UNCHANGED if is_apart else ClientIds.NAMESPACED
                if (tenant.client_ids or default) is ClientIds.NAMESPACED:
                    found.add(tenant.name)
        return frozenset(found)

    def credentials(self) -> Iterator[tuple[Tenant, Credential]]:
        """Yield every credential with the tenant it belongs to."""
        for tenant in self.tenants:
            for credential in tenant.auth.credentials:
                yield tenant, credential
