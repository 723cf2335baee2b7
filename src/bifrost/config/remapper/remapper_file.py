r"""Translates a partition remapper's file into the terms of the flat dialect.

    remapper                                in the terms of the flat dialect
      listen.address, advertised_address    proxy.listener_sets[0], with single_address
      listen.max_connections                proxy.limits.max_connections
      listen.security                       its security_protocol and tls
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
from bifrost.config.remapper.sections import KafkaTls, ListenTls, PartitionRemapper, TopicMapping
from bifrost.config.remapper.topic_expressions import EXPECTED, is_name, pattern_of
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
    ("upstream",): ("kafka",),
    ("upstream", "bootstrap"): ("kafka", "bootstrap_servers"),
    ("upstream", "tls"): ("kafka", "tls"),
    **{("upstream", "tls", key): ("kafka", "tls", own) for key, own in _KAFKA_FILES.items()},
    ("tenants",): ("mapping",),
}
_NO_SASL = (
    " needs passwords, which never stand in a file of the configuration: write the gateway's own dialect "
    "(docs/partition-remapper.md)"
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
        if read is not None:
            self._check(read, overrides)
        if read is None or self.problems:
            self.unreported |= {
                ("proxy",),
                ("upstream",),
                ("tenants",),
            }  # They are reported in this file's words.
            return
        self.data = {
            "proxy": self._proxy(read),
            "upstream": _upstream(read),
            "tenants": [_tenant(read, overrides)],
        }
        self._add_notices(read, written)
        self.process = ProcessSettings(_LEVELS[read.logging.level], read.logging.json_, tuple(self._notices))

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
        for loc in _sasl(written):
            self._tell(loc, f"{show_loc(loc)}{_NO_SASL}")
        try:
            return PartitionRemapper.model_validate(written)
        except ValidationError as error:
            told = set(_sasl(written))
            for loc, text in explain(error, written, PartitionRemapper):
                if loc not in told:
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
            if pattern_of(key) is None:
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
        if listen.advertised_address is not None:
            if listen.advertised_address.port != listen.address.port:
                text = f"port {listen.advertised_address.port} is not that of address, {listen.address.port}"
                self._tell(at, f"{show_loc(at)}: {text}: clients are told the port that is bound")
            if listen.advertised_address.host in _ANY:
                self._tell(at, f"{show_loc(at)}: clients cannot connect to {listen.advertised_address.host}")
        for place, protocol, tls in (
            (("listen", "security"), listen.security.protocol, listen.security.tls),
            (("kafka",), kafka.security_protocol, kafka.tls),
        ):
            if tls is not None and protocol is not SecurityProtocol.SSL:
                self._tell((*place, "tls"), f"{show_loc((*place, 'tls'))} is only for SSL, found {protocol}")
        tls = listen.security.tls
        if listen.security.protocol is SecurityProtocol.SSL and tls is None:
            self._tell(("listen", "security"), "listen.security.tls is missing: SSL needs a certificate")
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

    # -- translation

    def _proxy(self, read: PartitionRemapper) -> dict[str, object]:
        listen = read.listen
        host = (listen.advertised_address or listen.address).host
        listener: dict[str, object] = {
            "name": TENANT,
            "tenant": TENANT,
            "single_address": True,
            "security_protocol": str(listen.security.protocol),
            "port_range": {
                "bind_host": listen.address.host,
                "advertised_host": "localhost" if host in _ANY else host,
                "bootstrap_port": listen.address.port,
            },
        }
        if listen.security.tls is not None:
            listener["tls"] = _server_tls(listen.security.tls)
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


def _sasl(written: Mapping[str, object]) -> Iterator[Loc]:
    """Yield where the file asks for SASL."""
    kafka, security = _section(written, "kafka"), _section(_section(written, "listen"), "security")
    for at, section, key in (
        (("kafka",), kafka, "security_protocol"),
        (("listen", "security"), security, "protocol"),
    ):
        if str(section.get(key)).startswith("SASL_"):
            yield (*at, key)
        if "sasl" in section:
            yield (*at, "sasl")


def _server_tls(tls: ListenTls) -> dict[str, object]:
    found: dict[str, object] = {"certificate_file": tls.cert_path, "key_file": tls.key_path}
    if tls.ca_cert_path is not None:
        found["client_ca_file"] = tls.ca_cert_path
        found["client_auth"] = "required" if tls.require_client_cert else "requested"
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
            "topics": [pattern_of(key)],
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
