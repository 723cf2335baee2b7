"""The ports that virtual clusters share: `spec.listener.sni`, by which a client's host name says its tenant and broker.

Documents with the same `bind` and `port` that say `sni` are one listener set, whose `sni.tenants` in the flat dialect
are their names. What they say of that port has to be the same in all of them: each is complete by itself, so each can
be removed alone.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from bifrost.config.fields.listener_sets import ListenerSet
from bifrost.config.fields.server_names import TENANT
from bifrost.config.fields.sni import Sni
from bifrost.config.kubernetes.broker_ports import DEFAULT_BIND, is_port
from bifrost.config.kubernetes.camel_case import camel_keys
from bifrost.config.kubernetes.resource import Resource
from bifrost.config.kubernetes.translation import Translation
from bifrost.config.loc import Loc

LISTENER_KEYS = camel_keys(ListenerSet, without=("name", "port_range", "sni", "tenant"))
"""The field for each key of `spec.listener` that does not concern its addresses."""
SNI_PORT_KEYS = {"bind": "bind_host", "port": "port"}
"""Keys beside `sni` that are inside it in the flat dialect."""
SNI_KEYS = camel_keys(Sni, without=(*SNI_PORT_KEYS.values(), "tenants"))
"""The field for each key of `spec.listener.sni`."""
WITHOUT_SNI = ("advertisedHost", "brokerPorts", "brokerIdBase")
"""Keys of `spec.listener` that say what the host names of `sni` say."""

_AT: Loc = ("spec", "listener")
_MAX_NAME = 48
"""Longest name of a listener set here, in characters, before a number that makes it unique; 64 are allowed."""


@dataclass(frozen=True, slots=True)
class _Shared:
    """One port."""

    first: Resource
    """The document that came first."""
    said: Mapping[str, object]
    """What it says of the port."""
    tenants: list[str] = field(default_factory=list)
    """The names of its virtual clusters, also in the listener set."""


class SniListeners:
    """All such ports of a configuration."""

    def __init__(
        self, translation: Translation, sets: list[dict[str, object]], names: Collection[object]
    ) -> None:
        """Know no port yet.

        Args:
            translation: takes the origin of each value, and the mistakes.
            sets: the listener sets of the configuration; each port adds one.
            names: the names of all virtual clusters, which may be those of other listener sets.
        """
        self._translation = translation
        self._sets = sets
        self._taken = set(map(str, names))
        self._shared: dict[object, _Shared] = {}
        self._ports: set[Loc] = set()

    def read(self, resource: Resource, spec: Mapping[str, object], name: object, tenant_at: Loc) -> None:
        """Add a virtual cluster to the listener set of its port.

        Args:
            resource: its document, whose `spec.listener` is a mapping with `sni`.
            spec: its `spec`.
            name: its name, as far as it is readable.
            tenant_at: the place of its tenant in the flat dialect.
        """
        translation = self._translation
        keys = (*SNI_PORT_KEYS, *LISTENER_KEYS, "sni", *WITHOUT_SNI)
        listener = translation.section(resource, _AT, keys)
        assert listener is not None
        for key in listener.keys() & set(WITHOUT_SNI):
            text = " is of no use with sni, where each broker has a host name: remove it"
            translation.tell(resource, (*_AT, key), text)
        said = {"securityProtocol": "SASL_SSL"} | {
            key: value for key, value in listener.items() if key not in WITHOUT_SNI
        }
        self._check_auth(resource, spec, said["securityProtocol"], tenant_at)
        port, bind = listener.get("port"), listener.get("bind", DEFAULT_BIND)
        place: object = (str(bind).lower(), port) if is_port(port) else resource
        shared = self._shared.get(place)
        if shared is None:
            shared = self._shared[place] = _Shared(resource, said)
            self._sets.append(self._listener_set(shared, "" if bind == DEFAULT_BIND else str(bind), port))
        else:
            self._compare(resource, said, shared)
        if isinstance(name, str):
            shared.tenants.append(name)

    def hint(self, *locs: Loc) -> str:
        """Explain that one of two virtual clusters at a port does not share it."""
        is_shared = not self._ports.isdisjoint(locs)
        if not is_shared or any(loc[:2] != ("proxy", "listener_sets") for loc in locs):
            return ""
        return "; virtual clusters share a port only where all of them have sni, and the same bind"

    def _listener_set(self, shared: _Shared, bind: str, port: object) -> dict[str, object]:
        """Return the listener set of a port as its first document describes it."""
        translation, resource, said = self._translation, shared.first, shared.said
        to: Loc = ("proxy", "listener_sets", len(self._sets))
        sni_to: Loc = (*to, "sni")
        translation.origins |= {to: (resource, _AT), sni_to: (resource, (*_AT, "sni"))}
        translation.origins |= {
            (*sni_to, name): (resource, (*_AT, key)) for key, name in SNI_PORT_KEYS.items()
        }
        # Mistakes in these are reported at the names of the virtual clusters.
        translation.unreported |= {(*to, "name"), (*sni_to, "tenants")}
        self._ports.add((*sni_to, "port"))
        names = translation.section(resource, (*_AT, "sni"), SNI_KEYS, spoils=sni_to) or {}
        for key, pattern in names.items():
            if key in ("bootstrapHost", "brokerHost") and isinstance(pattern, str) and TENANT not in pattern:
                text = f" has no {TENANT}: without it no host name says which virtual cluster a client means"
                translation.tell(resource, (*_AT, "sni", key), text, spoils=to)
        tls = said.get("tls")
        if (
            said["securityProtocol"] == "SSL"
            and isinstance(tls, dict)
            and tls.get("clientAuth") != "required"
        ):
            text = ": with SSL and sni the client's certificate says who it is: set clientAuth to required"
            translation.tell(resource, (*_AT, "tls"), text, spoils=to)
        made = translation.copy_fields(resource, _AT, to, said, ListenerSet, LISTENER_KEYS)
        sni = translation.copy_fields(resource, _AT, sni_to, said, Sni, SNI_PORT_KEYS)
        sni |= translation.copy_fields(resource, (*_AT, "sni"), sni_to, names, Sni, SNI_KEYS)
        return made | {"name": self._name_of(bind, port), "sni": sni | {"tenants": shared.tenants}}

    def _name_of(self, bind: str, port: object) -> str:
        """Return a name for a listener set that stays the same while other documents come and go."""
        host = re.sub("[^a-zA-Z0-9.]+", "-", bind)
        name = first = f"sni-{f'{host}-' if bind else ''}{port}"[-_MAX_NAME:]
        number = 1
        while name in self._taken:
            number += 1
            name = f"{first}-{number}"
        self._taken.add(name)
        return name

    def _check_auth(
        self, resource: Resource, spec: Mapping[str, object], protocol: object, tenant_at: Loc
    ) -> None:
        """Refuse a virtual cluster whose clients are not asked who they are: each could be that of all others."""
        auth = spec.get("auth")
        at: Loc = ("spec", "auth")
        if "auth" not in spec:
            text = " is missing: with sni it says who belongs to the tenant"
            self._translation.tell(resource, at, text, spoils=(*tenant_at, "auth"))
        elif protocol == "SSL" and isinstance(auth, dict) and "credentials" in auth:
            text = " is of no use with SSL: principals say whose certificates belong to the tenant"
            self._translation.tell(resource, (*at, "credentials"), text)

    def _compare(self, resource: Resource, said: Mapping[str, object], shared: _Shared) -> None:
        """Refuse a document that says something else of a port than the first that has it."""
        keys = sorted(said.keys() | shared.said.keys())
        others = [key for key in keys if key not in SNI_PORT_KEYS and said.get(key) != shared.said.get(key)]
        if others:
            text = (
                f" has the port of {shared.first.place_of(_AT)}, and {' and '.join(others)} "
                f"{'differs' if len(others) == 1 else 'differ'}: make the two the same, or take another port"
            )
            self._translation.tell(resource, _AT, text)
