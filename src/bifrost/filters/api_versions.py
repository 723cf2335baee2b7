"""ApiVersions: a client may use the APIs that both the broker and the gateway serve.

The gateway answers itself, from the broker's earlier answer: before authentication nothing goes upstream. Features are
passed on (KIP-584): clients learn from `transaction.version` and `group.version` which protocol they may speak.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.fields.entities import served_versions
from bifrost.wire.message import Message
from bifrost.wire.messages import ApiVersionsResponse
from bifrost.wire.schema import VersionRange

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
"""ApiVersionsRequest.SOFTWARE_NAME_VERSION_PATTERN."""

_FEATURES_FROM_0 = 4
"""Clients before ApiVersions v4 cannot read a feature whose lowest version is 0 (KAFKA-17011)."""

_GATEWAY_OWN = frozenset({ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE, ApiKey.API_VERSIONS})
"""Served by the gateway itself, whether or not the broker's listener offers them."""


@dataclass(frozen=True)
class OfferedVersions:
    """The APIs one broker offers through the gateway."""

    ranges: dict[int, VersionRange]
    broker_response: Any
    """The broker's own ApiVersionsResponse, for its features."""
    encoded: dict[int, bytes] = field(default_factory=dict, compare=False, repr=False)
    """Whole frames of the answer by API version, for correlation ID 0; made when first asked for."""

    def offers(self, api_key: int, api_version: int) -> bool:
        """Whether a request of this version may be sent to the broker."""
        versions = self.ranges.get(api_key)
        return versions is not None and api_version in versions

    def response(self, api_version: int) -> Message:
        """Return the answer to an ApiVersions request."""
        broker = self.broker_response
        features = [
            feature
            for feature in broker.supported_features
            if feature.min_version > 0 or api_version >= _FEATURES_FROM_0
        ]
        return self._response(
            supported_features=features,
            finalized_features_epoch=_features_epoch(broker),
            finalized_features=broker.finalized_features,
        )

    def unsupported_version_response(self) -> Message:
        """Return the answer to an unknown version: in v0, with the known versions (KIP-511)."""
        return self._response(error_code=ErrorCode.UNSUPPORTED_VERSION)

    def _response(self, **fields: Any) -> Message:
        return ApiVersionsResponse(
            api_keys=[
                ApiVersionsResponse.ApiVersion(
                    api_key=api_key, min_version=versions.low, max_version=versions.high
                )
                for api_key, versions in sorted(self.ranges.items())
            ],
            **fields,
        )


def _features_epoch(broker: Any) -> int:
    """Return a number that grows when a feature's level is raised, and never otherwise.

    A broker gives the offset of the last record in the cluster's metadata log (MetadataImage.highestOffsetAndEpoch),
    which also grows with every topic that any tenant creates. Clients only compare it with the last one that they
    received (NetworkClient, ApiVersions), so the sum of the levels is enough; it is the same at all brokers and
    gateways.
    """
    if broker.finalized_features_epoch < 0:
        return -1
    return sum(feature.max_version_level for feature in broker.finalized_features)


def is_valid(request: Any) -> bool:
    """Whether a client's name and version are valid by KIP-511; a broker refuses the request otherwise."""
    return bool(
        _SOFTWARE.fullmatch(request.client_software_name)
        and _SOFTWARE.fullmatch(request.client_software_version)
    )


def offered_versions(broker_response: Any) -> OfferedVersions:
    """Intersect the APIs of a broker with those that the gateway serves.

    The lowest version is the broker's even where its oldest versions are only listed and not served: old librdkafka
    turns compression off when Produce does not start at v0 (KAFKA-18659), and brokers without v0 list it for that
    reason.
    """
    ranges: dict[int, VersionRange] = {}
    for api in broker_response.api_keys:
        served = served_versions(api.api_key)
        if served is None:
            continue
        low, high = max(api.min_version, served.low), min(api.max_version, served.high)
        if low <= high:
            ranges[api.api_key] = VersionRange(low, high)
    for api_key in _GATEWAY_OWN:
        served = served_versions(api_key)
        assert served is not None
        ranges[api_key] = served
    return OfferedVersions(ranges, broker_response)


def common_versions(offered: Sequence[OfferedVersions]) -> OfferedVersions:
    """Intersect what several brokers offer; a client whose cluster is not known yet gets this.

    Features that differ between brokers are left out: they say which protocol a client may use (KIP-584). Without any
    broker, the result has the APIs that the gateway serves itself.
    """
    if not offered:
        return offered_versions(ApiVersionsResponse())
    first, *others = offered
    if all(one is first for one in others):
        return first
    ranges: dict[int, VersionRange] = {}
    for api_key, versions in first.ranges.items():
        theirs = [one.ranges.get(api_key) for one in others]
        known = [one for one in theirs if one is not None]
        low = max([versions.low, *(one.low for one in known)])
        high = min([versions.high, *(one.high for one in known)])
        if len(known) == len(theirs) and low <= high:
            ranges[api_key] = VersionRange(low, high)
    response = first.broker_response
    if any(_features(one) != _features(first) for one in others):
        response = ApiVersionsResponse()
    return OfferedVersions(ranges, response)


def behind_one_address(offered: Sequence[OfferedVersions]) -> OfferedVersions:
    """Intersect what all brokers of a cluster offer; without the APIs that are not served behind a single address."""
    from bifrost.routes.route_kinds import route_kind  # Only for those who have such an address.

    common = common_versions(offered)
    ranges = {key: versions for key, versions in common.ranges.items() if route_kind(key) is not None}
    return OfferedVersions(ranges, common.broker_response)


def _features(offered: OfferedVersions) -> object:
    response = offered.broker_response
    supported = {(one.name, one.min_version, one.max_version) for one in response.supported_features}
    finalized = {
        (one.name, one.min_version_level, one.max_version_level) for one in response.finalized_features
    }
    return supported, finalized
