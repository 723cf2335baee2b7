"""The lanes of one session: how its requests of each API and version are handled and counted.

Without a journal the lanes are shared by all sessions of the tenant that use the same names. With a journal they belong
to one client (principal, client ID, software), whose usage they count. The engine recognises a request with another
client ID and calls here; from then on the lanes are that client's.
"""

from bifrost.forwarding.lane import Lane
from bifrost.forwarding.lanes import LaneTable
from bifrost.journal.admin_operations import ADMIN_APIS
from bifrost.journal.meter import Meter
from bifrost.session.shared_state import Route
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.headers import REQUEST_PREFIX, RequestHeader

OWN_APIS = frozenset({ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})
"""APIs that the gateway answers itself."""


class SessionLanes:
    """The lanes of one authenticated session."""

    __slots__ = ("_meter", "_offered", "_table", "known")

    def __init__(self, table: LaneTable, route: Route, meter: Meter | None) -> None:
        """Begin without lanes; APIs that the broker lacks get none. Without `meter` the journal counts nothing."""
        self._table, self._offered, self._meter = table, route.offered, meter
        self.known: dict[int, Lane] = {}
        """Lanes of requests that the engine handles by itself, by API key << 16 | version."""

    def of(self, header: RequestHeader, frame: bytes | memoryview) -> Lane | None:
        """Return the lane of a request, None when its API or version is not served."""
        if self._meter is not None:
            self._follow(self._meter, header, frame)
        api_key, api_version = header.api_key, header.api_version
        lane = self.known.get(api_key << 16 | api_version)
        if lane is None and self._offered.offers(api_key, api_version):
            lane = self._table.lane(api_key, api_version)
            if lane is not None and self._meter is not None:
                usage = self._meter.usage(api_key, api_version)
                names = self._table.names.of_api(api_key)
                lane = Lane(lane.plan, lane.traffic, lane.load, names, usage)
            if lane is not None and not self._is_looked_at(api_key):
                self.known[api_key << 16 | api_version] = lane
        return lane

    def forget(self) -> None:
        """Forget all lanes; each is made anew when it is needed."""
        self.known.clear()

    def _is_looked_at(self, api_key: int) -> bool:
        return api_key in OWN_APIS or (self._meter is not None and api_key in ADMIN_APIS)

    def _follow(self, meter: Meter, header: RequestHeader, frame: bytes | memoryview) -> None:
        at, length = REQUEST_PREFIX.size, header.client_id_length
        client_id = None if length < 0 else bytes(frame[at : at + length])
        if not meter.is_of(client_id):
            meter.become(client_id)
            self.known.clear()
