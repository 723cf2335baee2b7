"""The second dialect: Kubernetes-style documents; each KafkaVirtualCluster is a tenant.

    KafkaVirtualCluster                     in the terms of the flat dialect
      metadata.name                         tenants[].name, proxy.listener_sets[].name and .tenant
      spec.listener                         proxy.listener_sets[]; bind, port, advertisedHost, brokerPorts and
                                            brokerIdBase are its port_range; those with the same port and
                                            sni are one (sni_listeners.py)
      spec.targetCluster                    upstreams[]; those that are the same are one (target_clusters.py)
      spec.virtualization                   tenants[]; topicPrefix, groupPrefix and transactionIdPrefix: its prefixes
      spec.auth, spec.upstreamSasl          tenants[].auth, tenants[].upstream_sasl
      spec.filters                          tenants[].filters
    KafkaGateway (at most one)
      spec                                  proxy, without listener_sets

Every other key is the flat dialect's at that place, in camelCase. The loader checks the result like a file of that
dialect, and reports errors in the terms and with the lines of this one; only keys without a counterpart are checked
here.
"""

from collections.abc import Mapping, Sequence

from bifrost.config.checks.port_clashes import MAX_LISTENER_SETS
from bifrost.config.fields.listener_sets import ListenerSet, PortRange
from bifrost.config.fields.tenants import Tenant
from bifrost.config.fields.upstream import Upstream
from bifrost.config.kubernetes.broker_ports import DEFAULT_BROKER_PORTS, MAX_PORT, Neighbours, is_port
from bifrost.config.kubernetes.camel_case import camel_keys
from bifrost.config.kubernetes.resource import Resource
from bifrost.config.kubernetes.sni_listeners import LISTENER_KEYS, SniListeners
from bifrost.config.kubernetes.target_clusters import TARGET_KEYS, Target, merge_targets
from bifrost.config.kubernetes.translation import Translation
from bifrost.config.loc import Loc
from bifrost.config.model import Proxy

API_VERSION = "gateway.corp/v1alpha1"
VIRTUAL_CLUSTER = "KafkaVirtualCluster"
GATEWAY = "KafkaGateway"

TOP_KEYS = ("apiVersion", "kind", "metadata", "spec")
METADATA_KEYS = ("name", "labels", "annotations")
"""Keys of `metadata`; labels and annotations are for people and other programs."""
TENANT_SECTIONS = {"auth": "auth", "upstreamSasl": "upstream_sasl", "filters": "filters"}
"""Sections of a tenant that are directly in `spec`."""
SPEC_KEYS = ("listener", "targetCluster", "virtualization", *TENANT_SECTIONS)
PORT_KEYS = {
    "bind": "bind_host",
    "port": "bootstrap_port",
    "advertisedHost": "advertised_host",
    "brokerPorts": "broker_port_range",
    "brokerIdBase": "broker_id_base",
}
PREFIX_KEYS = {"topicPrefix": "topic", "groupPrefix": "group", "transactionIdPrefix": "transactional_id"}
TENANT_KEYS = camel_keys(Tenant, without=("name", "upstream", "prefixes", *TENANT_SECTIONS.values()))
GATEWAY_KEYS = camel_keys(Proxy, without=("listener_sets", "pseudonym_key"))

_SASL_FREE = ("PLAINTEXT", "SSL")
WORDS = {
    "bind_host": "bind",
    "bootstrap_port": "port",
    "broker_port_range": "brokerPorts",
}
"""Keys whose names differ from the flat dialect's in more than camelCase."""


class VirtualClusters(Translation):
    """The configuration that several documents of the second dialect form together."""

    def __init__(self, resources: Sequence[Resource]) -> None:
        """Translate the documents in their order; there is at least one."""
        super().__init__(resources[0], WORDS)
        self._default_ports: set[Loc] = set()
        self._targets: list[Target] = []
        self._listener_sets: list[dict[str, object]] = []
        self._tenants: list[dict[str, object]] = []
        kinds = [(resource, self._read_head(resource)) for resource in resources]
        clusters = [resource for resource, kind in kinds if kind == VIRTUAL_CLUSTER]
        proxy = self._read_gateway([resource for resource, kind in kinds if kind == GATEWAY])
        served = clusters[:MAX_LISTENER_SETS]
        self._neighbours = Neighbours(served)
        self._sni = SniListeners(self, self._listener_sets, [one.get("metadata", "name") for one in served])
        for resource in served:
            self._read_cluster(resource)
        for resource in clusters[MAX_LISTENER_SETS:][:1]:
            text = f": {len(clusters)} are a {VIRTUAL_CLUSTER}, one gateway takes {MAX_LISTENER_SETS}: run another"
            self.tell(resource, ("kind",), text)
        if not clusters:
            self._refuse_none(resources[0], is_known=all(kind for _, kind in kinds))
        self.data = {
            "proxy": proxy | {"listener_sets": self._listener_sets},
            "upstreams": self._read_targets(),
            "tenants": self._tenants,
        }
        self.add_document_problems(resources)

    def hint(self, *locs: Loc) -> str:
        """Explain ports that the operator did not write, and ports that are not shared."""
        if self._default_ports.isdisjoint(locs):
            return self._sni.hint(*locs)
        return (
            f"; without brokerPorts the brokers have the {DEFAULT_BROKER_PORTS} ports after port, or those up to the "
            "port of the next virtual cluster: set it, or leave more ports between"
        )

    # -- documents

    def _read_head(self, resource: Resource) -> str | None:
        """Return the kind of a document, None when it is unknown or absent."""
        self.known(resource, (), TOP_KEYS)
        version, kind = resource.get("apiVersion"), resource.get("kind")
        before = len(self.problems)
        for key, value, expected in (
            ("apiVersion", version, (API_VERSION,)),
            ("kind", kind, (VIRTUAL_CLUSTER, GATEWAY)),
        ):
            if key not in resource.root:
                self.tell(resource, (key,), f" is missing: add it, e.g. {key}: {expected[0]}")
            elif value not in expected:
                self.tell(resource, (key,), f": expected {' or '.join(expected)}")
        return str(kind) if len(self.problems) == before else None

    def _refuse_none(self, resource: Resource, *, is_known: bool) -> None:
        self.unreported |= {("tenants",), ("proxy", "listener_sets")}
        if is_known:
            text = f"no document is a {VIRTUAL_CLUSTER}: add one, for it is they that clients reach"
            self.problems.append((None, resource.place_of(("kind",)), text))

    def _read_gateway(self, gateways: Sequence[Resource]) -> dict[str, object]:
        for other in gateways[1:]:
            first = gateways[0].place_of(("kind",))
            self.tell(other, ("kind",), f": a second {GATEWAY}, the first is in {first}: make one of the two")
        if not gateways:
            return {}
        gateway = gateways[0]
        self.section(gateway, ("metadata",), METADATA_KEYS)
        self.origins["proxy",] = (gateway, ("spec",))
        spec = self.section(gateway, ("spec",), GATEWAY_KEYS, needs="admin or limits")
        return self.copy_fields(gateway, ("spec",), ("proxy",), spec or {}, Proxy, GATEWAY_KEYS)

    def _read_cluster(self, resource: Resource) -> None:
        index = len(self._tenants)
        tenant_at: Loc = ("tenants", index)
        self.origins[tenant_at] = (resource, ())
        self.unreported.add((*tenant_at, "upstream"))  # A mistake is reported at the target cluster.
        metadata = self.section(resource, ("metadata",), METADATA_KEYS, spoils=(*tenant_at, "name")) or {}
        self.origins[*tenant_at, "name"] = (resource, ("metadata", "name"))
        named: dict[str, object] = {key: metadata[key] for key in ("name",) if key in metadata}
        spec = self.section(
            resource, ("spec",), SPEC_KEYS, spoils=tenant_at, needs="listener and targetCluster"
        )
        if spec is None:
            self.unreported.add(("proxy", "listener_sets", len(self._listener_sets)))
            self._tenants.append({})
            self._listener_sets.append({})
            return
        listener = spec.get("listener")
        if isinstance(listener, dict) and "sni" in listener:
            self._sni.read(resource, spec, named.get("name"), tenant_at)
        else:
            set_at: Loc = ("proxy", "listener_sets", len(self._listener_sets))
            # Mistakes in these are reported at the tenant's name.
            self.unreported |= {(*set_at, "name"), (*set_at, "tenant")}
            owned = named | ({"tenant": named["name"]} if named else {})
            self._listener_sets.append(self._read_listener(resource, set_at, spec, tenant_at) | owned)
        self._tenants.append(self._read_tenant(resource, tenant_at) | named)
        target = self.section(resource, ("spec", "targetCluster"), TARGET_KEYS, needs="bootstrapServers")
        if target is not None:
            self._targets.append(Target(resource, target, self._tenants[-1]))

    # -- sections of a virtual cluster

    def _read_listener(
        self, resource: Resource, to: Loc, spec: Mapping[str, object], tenant_at: Loc
    ) -> dict[str, object]:
        at: Loc = ("spec", "listener")
        ports_to: Loc = (*to, "port_range")
        self.origins |= {to: (resource, at), ports_to: (resource, at)}
        self.origins |= {(*ports_to, name): (resource, (*at, key)) for key, name in PORT_KEYS.items()}
        keys = (*PORT_KEYS, *LISTENER_KEYS, "sni")
        listener = self.section(resource, at, keys, spoils=to, needs="port and advertisedHost")
        if listener is None:
            return {}
        ports = self.copy_fields(resource, at, ports_to, listener, PortRange, PORT_KEYS)
        copied = self.copy_fields(resource, at, to, listener, ListenerSet, LISTENER_KEYS)
        if "broker_port_range" not in ports and listener.get("singleAddress") is not True:
            ports |= self._broker_ports(resource, ports_to, listener)
            if "broker_port_range" not in ports and type(ports.get("broker_id_base")) is int:
                del ports["broker_id_base"]  # the only broker may have any ID
        protocol = listener.get("securityProtocol")
        if "securityProtocol" not in listener:
            sasl, tls = ("SASL_" if "auth" in spec else ""), ("SSL" if "tls" in listener else "PLAINTEXT")
            copied["security_protocol"] = sasl + tls
        elif protocol in _SASL_FREE and "auth" in spec:
            self.tell(
                resource, ("spec", "auth"), f" is of no use with {protocol}: remove it, or securityProtocol"
            )
        elif protocol in ("SASL_PLAINTEXT", "SASL_SSL") and "auth" not in spec:
            text = f" is missing: with {protocol} it says who belongs to the tenant"
            self.tell(resource, ("spec", "auth"), text, spoils=(*tenant_at, "auth"))
        return {**copied, "port_range": ports}

    def _broker_ports(
        self, resource: Resource, ports_to: Loc, listener: Mapping[str, object]
    ) -> dict[str, object]:
        """Return the range of ports that follow; nothing when the port itself stands for the only broker."""
        to: Loc = (*ports_to, "broker_port_range")
        at: Loc = ("spec", "listener", "port")
        self.origins[to] = (resource, at)
        port = listener.get("port")
        if port == MAX_PORT:
            self.unreported.add(to)
            text = f": {MAX_PORT} leaves none for the brokers: take a lower one, or set brokerPorts"
            self.tell(resource, at, text)
        elif isinstance(port, int) and is_port(port):
            ports = self._neighbours.broker_ports_after(port, listener.get("bind"))
            if ports:
                self._default_ports.add(to)
                return {"broker_port_range": {"start": ports[0], "end": ports[-1]}}
        return {}

    def _read_tenant(self, resource: Resource, to: Loc) -> dict[str, object]:
        at: Loc = ("spec", "virtualization")
        prefixes_to: Loc = (*to, "prefixes")
        self.origins[prefixes_to] = (resource, at)
        self.origins |= {(*prefixes_to, name): (resource, (*at, key)) for key, name in PREFIX_KEYS.items()}
        keys = PREFIX_KEYS | TENANT_KEYS
        rules = self.section(resource, at, keys) or {}
        tenant = self.copy_fields(resource, at, to, rules, Tenant, TENANT_KEYS)
        prefixes = self.copy_fields(resource, at, prefixes_to, rules, Tenant, PREFIX_KEYS)
        if prefixes:
            tenant["prefixes"] = prefixes
        spec = resource.get("spec")
        assert isinstance(spec, dict)  # it is there, or there would have been nothing to read
        return tenant | self.copy_fields(resource, ("spec",), to, spec, Tenant, TENANT_SECTIONS)

    def _read_targets(self) -> list[dict[str, object]]:
        """Return the upstreams, and set in each tenant the name of its upstream."""
        merged, refused = merge_targets(self._targets)
        self.problems += [(None, place, text) for place, text in refused]
        upstreams = []
        at: Loc = ("spec", "targetCluster")
        for index, target in enumerate(merged):
            to: Loc = ("upstreams", index)
            resource = target.resource
            self.origins[to] = (resource, at)
            self.origins[*to, "bootstrap"] = (resource, (*at, "bootstrapServers"))
            others = camel_keys(Upstream, without=("bootstrap",))
            upstream = self.copy_fields(resource, at, to, target.content, Upstream, others)
            upstream["bootstrap"] = self._bootstrap(target, to)
            if "name" not in target.content:
                self.unreported.add((*to, "name"))
            upstreams.append(upstream | {"name": target.name})
        if not upstreams:
            self.unreported.add(("upstreams",))
        return upstreams

    def _bootstrap(self, target: Target, to: Loc) -> object:
        """Return the list of addresses in one text, in the form of `bootstrap.servers` of Kafka's clients."""
        at: Loc = ("spec", "targetCluster", "bootstrapServers")
        is_there, value = target.resource.find(at)
        for number in range(len(target.addresses)):
            self.origins[*to, "bootstrap", number] = (target.resource, at)
        if isinstance(value, str):
            return target.addresses
        self.unreported.add((*to, "bootstrap"))
        text = 'host:port with commas between, e.g. "kafka-1.internal:9092,kafka-2.internal:9092"'
        if not is_there:
            what = "no document describes it" if target.is_reference else "add it"
            self.tell(target.resource, at, f" is missing: {what}; write {text}")
        elif at not in target.resource.broken:
            self.tell(target.resource, at, f": write one text, {text}")
        return None
