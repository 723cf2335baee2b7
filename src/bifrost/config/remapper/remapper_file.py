r"""Translates a partition remapper's file into the terms of the flat dialect.

    remapper                                in the terms of the flat dialect
      listen.address, advertised_address    proxy.listener_sets[0], with single_address
      listen.max_connections                proxy.limits.max_connections
      listen.security                       its security_protocol, tls and sasl_mechanisms, and tenants[0].auth
      kafka                                 upstream; connection_timeout_ms and metadata_refresh_interval_secs are
                                            upstream_connect_timeout_ms and metadata_refresh_ms of proxy.limits
      mapping                               tenants[0].virtual_partitions, the overrides first
      metrics                               proxy.admin
      logging                               ProcessSettings

A remapper has no tenants: all who reach the port are one, `remapper`. Its names have the prefix of any tenant's at the
brokers, because the gateway's own topics and Kafka's internal ones must stay apart from it.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

from pydantic import ValidationError

from bifrost.config.explain import explain, show_loc
from bifrost.config.fields.virtual_partitions import MAX_RULES, MAX_SHARING
from bifrost.config.files.document import Document
from bifrost.config.files.process_settings import ProcessSettings
from bifrost.config.files.source import Place, Source
from bifrost.config.loc import Loc
from bifrost.config.name_template import NameTemplate
from bifrost.config.remapper.remapper_users import UnusableUsers, credentials, expanded, is_literal, secret
from bifrost.config.remapper.sections import (
    KafkaSasl,
    KafkaTls,
    ListenPrincipal,
    ListenSecurity,
    ListenTls,
    PartitionRemapper,
    TopicMapping,
)
from bifrost.config.remapper.topic_expressions import EXPECTED, is_name, patterns_of
from bifrost.config.section import Section
from bifrost.config.security_protocol import SecurityProtocol

KEYS = frozenset(PartitionRemapper.model_fields)
TENANT = "remapper"
"""The only tenant: metrics, logs and physical names have it."""

_LISTENER: Loc = ("proxy", "listener_sets", 0)
_ANY = ("0.0.0.0", "::")  # noqa: S104 - recognised, not bound
_LEVELS: Mapping[str, Literal["debug", "info", "warning", "error"]] = {
    "trace": "debug",
    "debug": "debug",
    "info": "info",
    "warn": "warning",
    "error": "error",
}
_LISTEN_FILES = {"certificate_file": "cert_path", "key_file": "key_path", "client_ca_file": "ca_cert_path"}
_KAFKA_FILES = {"ca_file": "ca_cert_path", "certificate_file": "cert_path", "key_file": "key_path"}
_PLACES: Mapping[Loc, Loc] = {
    ("proxy",): ("listen",),
    ("proxy", "admin"): ("metrics", "address"),
    ("proxy", "limits"): ("listen", "max_connections"),
    (*_LISTENER, "tls"): ("listen", "security", "tls"),
    **{(*_LISTENER, "tls", key): ("listen", "security", "tls", own) for key, own in _LISTEN_FILES.items()},
    (*_LISTENER, "sasl_mechanisms"): ("listen", "security", "sasl", "enabled_mechanisms"),
    ("upstream",): ("kafka",),
    ("upstream", "sasl"): ("kafka", "sasl"),
    ("upstream", "bootstrap"): ("kafka", "bootstrap_servers"),
    ("upstream", "tls"): ("kafka", "tls"),
    **{("upstream", "tls", key): ("kafka", "tls", own) for key, own in _KAFKA_FILES.items()},
    ("tenants",): ("mapping",),
    ("tenants", 0, "auth"): ("listen", "security", "sasl", "credentials"),
}
_CREDENTIALS: Loc = ("listen", "security", "sasl", "credentials")
_IN_THE_FILE = (
    "stands in this file, which all who read it know: write it to a file of its own, or ${NAME} for an "
    "environment variable"
)


class RemapperFile(Source):
    """A configuration in the terms of the flat dialect, translated from a partition remapper's file."""

    def __init__(self, file: str, document: Document) -> None:
        """Translate a document, which is a mapping."""
        super().__init__(file, document)
        assert isinstance(document.data, dict)
        written = document.data
        self._notices: list[str] = []
        overrides = dict(self._read_overrides(written))
        read = self._read(written)
        self.data = {}
        sasl: dict[str, object] = {}
        users: list[dict[str, object]] = []
        if read is not None:
            self._check(read, overrides)
            sasl, users = self._account(read.kafka.sasl), self._users(read.listen.security)
        if read is None or self.problems:
            self.unreported |= {
                ("proxy",),
                ("upstream",),
                ("tenants",),
            }  # They are reported in this file's words.
            return
        self.data = {
            "proxy": self._proxy(read),
            "upstream": _upstream(read) | ({"sasl": sasl} if sasl else {}),
            "tenants": [_tenant(read, overrides) | ({"auth": {"credentials": users}} if users else {})],
        }
        self._add_notices(read, written)
        self.process = ProcessSettings(
            _LEVELS[read.logging.level], read.logging.is_json, tuple(self._notices)
        )

    # -- called by the loader

    def place_of(self, loc: Loc) -> Place:
        """Return the file and line of the value at `loc`, or of the nearest enclosing value that was written."""
        return super().place_of(_own_place(loc))

    def word(self, loc: Loc, text: str) -> str:
        """Return a message about the value at `loc` with the keys of this dialect."""
        flat = show_loc(loc)
        return show_loc(_own_place(loc)) + text.removeprefix(flat) if text.startswith(flat) else text

    # -- reading

    def _read(self, written: dict[str, object]) -> PartitionRemapper | None:
        mapping = written.get("mapping")
        if isinstance(mapping, dict) and isinstance(mapping.get("topics"), dict):
            written = {**written, "mapping": {key: mapping[key] for key in mapping if key != "topics"}}
        try:
            return PartitionRemapper.model_validate(written)
        except ValidationError as error:
            for loc, text in explain(error, written, PartitionRemapper):
                self._tell(loc, text)
        return None

    def _read_overrides(self, written: dict[str, object]) -> Iterator[tuple[str, TopicMapping]]:
        """Yield the overrides that are valid by themselves, and report the others."""
        mapping = written.get("mapping")
        topics = mapping.get("topics") if isinstance(mapping, dict) else None
        if not isinstance(topics, dict):
            return
        if len(topics) >= MAX_RULES:
            self._tell(
                ("mapping", "topics"), f"mapping.topics: {len(topics)} entries, at most {MAX_RULES - 1}"
            )
        for key, content in topics.items():
            at: Loc = ("mapping", "topics", key)
            if not patterns_of(key):
                self._tell(at, f"{_shown(at)}: {EXPECTED}")
            try:
                yield key, TopicMapping.model_validate(content)
            except ValidationError as error:
                for loc, text in explain(error, content, TopicMapping):
                    inner = f".{show_loc(loc)}" if loc else ""
                    self._tell((*at, *loc), _shown(at) + inner + text.removeprefix(show_loc(loc)))

    def _tell(self, loc: Loc, text: str) -> None:
        self.problems.append((None, Source.place_of(self, loc), text))

    def _notice(self, loc: Loc, text: str) -> None:
        self._notices.append(f"{Source.place_of(self, loc)}: {_shown(loc)}: {text}")

    # -- checks over several keys

    def _check(self, read: PartitionRemapper, overrides: Mapping[str, TopicMapping]) -> None:
        listen, kafka, mapping = read.listen, read.kafka, read.mapping
        at: Loc = ("listen", "advertised_address")
        if listen.advertised_address is not None and listen.advertised_address.host in _ANY:
            self._tell(at, f"{show_loc(at)}: clients cannot connect to {listen.advertised_address.host}")
        security = listen.security
        self._check_security(("listen", "security"), security.protocol, security.tls, security.sasl)
        self._check_security(("kafka",), kafka.security_protocol, kafka.tls, kafka.sasl)
        tls = security.tls
        if security.protocol.has_tls and tls is None:
            text = f"listen.security.tls is missing: {security.protocol} needs a certificate"
            self._tell(("listen", "security"), text)
        if tls is not None and tls.require_client_cert and tls.ca_cert_path is None:
            text = (
                "listen.security.tls: require_client_cert trusts no certificate without ca_cert_path: add it"
            )
            self._tell(("listen", "security", "tls"), text)
        self._check_numbers(
            ("mapping",), mapping.virtual_partitions, mapping.physical_partitions, mapping.offset_range
        )
        for key, one in overrides.items():
            self._check_numbers(
                ("mapping", "topics", key),
                one.virtual_partitions or mapping.virtual_partitions,
                one.physical_partitions or mapping.physical_partitions,
                one.offset_range or mapping.offset_range,
            )

    def _check_security(
        self, at: Loc, protocol: SecurityProtocol, tls: Section | None, sasl: Section | None
    ) -> None:
        if tls is not None and not protocol.has_tls:
            text = f"{show_loc((*at, 'tls'))} is only for SSL and SASL_SSL, found {protocol}"
            self._tell((*at, "tls"), text)
        if sasl is not None and not protocol.has_sasl:
            text = f"{show_loc((*at, 'sasl'))} is only for SASL_PLAINTEXT and SASL_SSL, found {protocol}"
            self._tell((*at, "sasl"), text)
        if sasl is None and protocol.has_sasl:
            self._tell(at, f"{show_loc((*at, 'sasl'))} is missing: {protocol} needs it")

    def _check_numbers(self, at: Loc, virtual: int, physical: int, offset_range: int) -> None:
        where = _shown(at)
        sharing = -(-virtual // physical)
        if virtual < physical:
            text = f"virtual_partitions {virtual} is less than physical_partitions {physical}: raise it"
            self._tell(at, f"{where}: {text}")
        elif sharing > MAX_SHARING:
            text = f"{sharing} virtual partitions would share a physical one: at most {MAX_SHARING} do"
            self._tell(at, f"{where}: {text}")
        elif sharing * offset_range > 2**63:
            text = f"{sharing} times offset_range {offset_range} is more than the highest offset: lower it"
            self._tell(at, f"{where}: {text}")

    # -- secrets

    def _account(self, sasl: KafkaSasl | None) -> dict[str, object]:
        """Return the account at the brokers, empty if there is none or it is not usable."""
        if sasl is None:
            return {}
        found: dict[str, object] = {"mechanism": sasl.mechanism}
        for key, read, text in (
            ("username", expanded, sasl.username),
            ("password", secret, sasl.password_),
        ):
            try:
                found[key] = read(text)
            except UnusableUsers as error:
                at: Loc = ("kafka", "sasl", key)
                self._tell(at, f"{show_loc(at)}: {error}")
        return found

    def _users(self, security: ListenSecurity) -> list[dict[str, object]]:
        """Return the users as credentials, none if there are none or one is not usable."""
        if security.sasl is None:
            return []
        try:
            return credentials(security.sasl.credentials, self.folder)
        except UnusableUsers as error:
            at = (*_CREDENTIALS, *error.loc)
            self._tell(at, f"{show_loc(at)}: {error}")
            return []

    # -- translation

    def _proxy(self, read: PartitionRemapper) -> dict[str, object]:
        listen = read.listen
        host, port = listen.advertised_address or listen.address
        sasl = listen.security.sasl
        listener: dict[str, object] = {
            "name": TENANT,
            **({"tenant": TENANT} if sasl is None else {"sasl_mechanisms": list(sasl.enabled_mechanisms)}),
            "single_address": True,
            "security_protocol": str(listen.security.protocol),
            "port_range": {
                "bind_host": listen.address.host,
                "advertised_host": "localhost" if host in _ANY else host,
                "bootstrap_port": listen.address.port,
                **({} if port == listen.address.port else {"advertised_port": port}),
            },
        }
        if listen.security.tls is not None:
            listener["tls"] = _server_tls(listen.security.tls, is_principal=sasl is None)
        refresh_s = read.kafka.metadata_refresh_interval_secs or 30
        limits = {
            "max_connections": listen.max_connections,
            "upstream_connect_timeout_ms": read.kafka.connection_timeout_ms,
            "metadata_refresh_ms": refresh_s * 1000,
        }
        proxy: dict[str, object] = {"listener_sets": [listener], "limits": limits}
        if read.metrics.enabled:
            address = read.metrics.address
            proxy["admin"] = {"bind_host": address.host, "port": address.port}
        return proxy

    def _add_notices(self, read: PartitionRemapper, written: Mapping[str, object]) -> None:
        """Name what the gateway does differently from what the file says."""
        if read.listen.advertised_address is None and read.listen.address.host in _ANY:
            text = "clients are told localhost: set advertised_address, the name by which they reach this machine"
            self._notice(("listen", "address"), text)
        kafka, mapping = _section(written, "kafka"), _section(written, "mapping")
        self._add_sasl_notices(read)
        if "request_timeout_ms" in kafka:
            text = "has no effect: a request waits for its broker as long as its client does"
            self._notice(("kafka", "request_timeout_ms"), text)
        if read.kafka.metadata_refresh_interval_secs == 0:
            text = "0 is 30 s here: the gateway does not wait for a client's request"
            self._notice(("kafka", "metadata_refresh_interval_secs"), text)
        topics = _section(mapping, "topics")
        ranges: list[Loc] = [("mapping",)] if "offset_range" in mapping else []
        ranges += [("mapping", "topics", key) for key in topics if "offset_range" in _section(topics, key)]
        for at in ranges:
            text = "has no effect: offsets are those of the physical partition"
            self._notice((*at, "offset_range"), text)
        prefix = NameTemplate().prefix(TENANT)
        text = (
            f"topics and groups have the prefix {prefix} at the brokers; those without it do not exist here"
        )
        self._notice(("mapping",), text)

    def _add_sasl_notices(self, read: PartitionRemapper) -> None:
        security, account = read.listen.security, read.kafka.sasl
        users = (security.sasl and security.sasl.credentials.users) or ()
        if any(is_literal(one.password_) for one in users):
            self._notice((*_CREDENTIALS, "users"), f"a password {_IN_THE_FILE}")
        if account is not None and is_literal(account.password_):
            self._notice(("kafka", "sasl", "password"), f"it {_IN_THE_FILE}")
        if (
            security.sasl is not None
            and security.tls is not None
            and security.tls.principal != ListenPrincipal()
        ):
            at: Loc = ("listen", "security", "tls", "principal")
            self._notice(at, "has no effect: the user of SASL is the principal")


def _shown(loc: Loc) -> str:
    """Return a place as text; the key of an override, which may be an expression, as it is written."""
    if len(loc) < 3 or loc[:2] != ("mapping", "topics"):
        return show_loc(loc)
    rest = "".join(f".{step}" for step in loc[3:])
    return f"mapping.topics[{str(loc[2])[:60]!r}]{rest}"


def _own_place(loc: Loc) -> Loc:
    while loc and loc not in _PLACES:
        loc = loc[:-1]
    return _PLACES.get(loc, ())


def _section(written: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = written.get(key)
    return value if isinstance(value, dict) else {}


def _server_tls(tls: ListenTls, *, is_principal: bool) -> dict[str, object]:
    found: dict[str, object] = {"certificate_file": tls.cert_path, "key_file": tls.key_path}
    if tls.ca_cert_path is not None:
        found["client_ca_file"] = tls.ca_cert_path
        found["client_auth"] = "required" if tls.require_client_cert else "requested"
        if is_principal:
            found["principal_mapping_rules"] = tls.principal.mapping_rules
    return found


def _client_tls(tls: KafkaTls) -> dict[str, object]:
    values = {"ca_file": tls.ca_cert_path, "certificate_file": tls.cert_path, "key_file": tls.key_path}
    return {key: value for key, value in values.items() if value is not None}


def _upstream(read: PartitionRemapper) -> dict[str, object]:
    kafka = read.kafka
    found: dict[str, object] = {
        "bootstrap": [str(one) for one in kafka.bootstrap_servers],
        "security_protocol": str(kafka.security_protocol),
    }
    if kafka.tls is not None:
        found["tls"] = _client_tls(kafka.tls)
    return found


def _tenant(read: PartitionRemapper, overrides: Mapping[str, TopicMapping]) -> dict[str, object]:
    mapping = read.mapping
    rules = [
        {
            "topics": list(patterns_of(key)),
            "virtual": one.virtual_partitions or mapping.virtual_partitions,
            "physical": one.physical_partitions or mapping.physical_partitions,
        }
        for key, one in sorted(overrides.items(), key=lambda override: not is_name(override[0]))
    ]
    rules.append(
        {"topics": ["*"], "virtual": mapping.virtual_partitions, "physical": mapping.physical_partitions}
    )
    if all(rule["virtual"] == rule["physical"] for rule in rules):
        return {"name": TENANT}
    return {"name": TENANT, "virtual_partitions": rules}
