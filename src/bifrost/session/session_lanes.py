"""The lanes of one session: where its requests of each API and version go along, and what counts them.

Without a journal they are its tenant's, in common with all its sessions. With one they are of one client (principal,
client ID, software), whose usage is counted on the way: a request with another client ID is recognised by the engine
and comes here, and from then on the lanes are that client's.
"""

from bifrost.forwarding.lanes import Lanes
from bifrost.journal.admin_operations import ADMIN_APIS
from bifrost.journal.meter import Meter
from bifrost.session.shared_state import Route
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.engine import Lane
from bifrost.wire.headers import REQUEST_PREFIX, RequestHeader

OWN_APIS = frozenset({ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})
"""What the gateway answers itself."""


class SessionLanes:
    """Of one session that is authenticated."""

    __slots__ = ("_lanes", "_meter", "_offered", "_tenant", "known")

    def __init__(self, lanes: Lanes, route: Route, tenant: str, meter: Meter | None) -> None:
        """Begin with none; what the broker lacks has none. Without a `meter` nothing is counted for the journal."""
        self._lanes, self._offered, self._tenant, self._meter = lanes, route.offered, tenant, meter
        self.known: dict[int, Lane] = {}
        """For the engine, by API key << 16 | version: of what needs no look by anybody else."""

    def of(self, header: RequestHeader, frame: bytes | memoryview) -> Lane | None:
        """Return the lane of a request, None when it is not served."""
        if self._meter is not None:
            self._follow(self._meter, header, frame)
        api_key, api_version = header.api_key, header.api_version
        lane = self.known.get(api_key << 16 | api_version)
        if lane is None and self._offered.offers(api_key, api_version):
            lane = self._lanes.lane(self._tenant, api_key, api_version)
            if lane is not None and self._meter is not None:
                usage = self._meter.usage(api_key, api_version)
                lane = Lane(lane.plan, lane.traffic, lane.load, usage)
            if lane is not None and not self._is_looked_at(api_key):
                self.known[api_key << 16 | api_version] = lane
        return lane

    def forget(self) -> None:
        """Make all of them anew when they are needed."""
        self.known.clear()

    def _is_looked_at(self, api_key: int) -> bool:
        return api_key in OWN_APIS or (self._meter is not None and api_key in ADMIN_APIS)

    def _follow(self, meter: Meter, header: RequestHeader, frame: bytes | memoryview) -> None:
        at, length = REQUEST_PREFIX.size, header.client_id_length
        client_id = None if length < 0 else bytes(frame[at : at + length])
        if not meter.is_of(client_id):
            meter.become(client_id)
            self.known.clear()
