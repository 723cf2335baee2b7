"""The records of policies in the state: kind `namespace-policy`, a record for each namespace that has one.

namespace-policy:acme            {"max_topics": 100}
namespace-policy:acme:analytics  {"topic_names": ["orders-*"]}
"""

from bifrost.config.policies.namespace_policy import NamespacePolicy
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import Body
from bifrost.tenancy.namespaces.namespace_path import Path, read_path, shown

KIND = "namespace-policy"
"""The kind of these records."""


def policy_key(path: Path) -> StateKey:
    """Return the key of a namespace's policy."""
    return StateKey(KIND, shown(path))


def read_key(key: StateKey) -> Path:
    """Return the namespace that a key names.

    Raises:
        InvalidNamespace: it names none.
    """
    return read_path(key.name)


def policy_body(policy: NamespacePolicy) -> Body:
    """Return the body of a record."""
    found: Body = policy.model_dump(mode="json", exclude_defaults=True)
    return found


def read_body(body: Body) -> NamespacePolicy:
    """Return the policy of a record.

    Raises:
        ValueError: a newer version of the gateway, or something else, has written it.
    """
    try:
        return NamespacePolicy.model_validate(body)
    except ValueError as error:
        raise ValueError(f"no policy: run the version of the gateway that wrote it ({error})") from None
