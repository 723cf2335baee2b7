"""Kafka's own StandardAuthorizer, in a process of its own (a Java VM uses SIGSEGV).

python -m golden.java_authorizer RELEASE

in    {"acls": [[resource type, pattern type, name, principal, host, operation, permission], ...],
       "super_users": "User:a;User:b", "allow_everyone": bool,
       "requests": [[resource type, name, principal, host, operation], ...],
       "by_type": [[resource type, principal, host, operation], ...],
       "filters": [[resource type, pattern type, name, principal, host, operation, permission], ...]}     one line
out   {"requests": [bool, ...], "by_type": [bool, ...], "filters": [[index in acls, ...], ...]}

Types, operations and permissions are the protocol's numbers.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from bifrost.jars import locked_jars
from golden.java_process import JavaProcess


class JavaAuthorizer(JavaProcess):
    """What the authorizer of one Kafka release decides; a context manager."""

    def __init__(self, release: str) -> None:
        super().__init__("golden.java_authorizer", release)

    def verdicts(self, question: dict[str, Any]) -> dict[str, list[Any]]:
        """Return what is permitted, and which ACLs each filter means; see the module."""
        return dict(self._ask(question))


class _Authorizer:
    """Java's classes, as this process uses them."""

    def __init__(self) -> None:
        from java_vm import java_class  # on the path of this process only

        common = "org.apache.kafka.common"
        metadata = "org.apache.kafka.metadata.authorizer"
        self._standard = java_class(f"{metadata}.StandardAuthorizer")
        self._acl = java_class(f"{metadata}.StandardAcl")
        self._uuid = java_class(f"{common}.Uuid")
        self._operation = java_class(f"{common}.acl.AclOperation")
        self._permission = java_class(f"{common}.acl.AclPermissionType")
        self._entry_filter = java_class(f"{common}.acl.AccessControlEntryFilter")
        self._filter = java_class(f"{common}.acl.AclBindingFilter")
        self._pattern = java_class(f"{common}.resource.ResourcePattern")
        self._pattern_filter = java_class(f"{common}.resource.ResourcePatternFilter")
        self._pattern_type = java_class(f"{common}.resource.PatternType")
        self._resource_type = java_class(f"{common}.resource.ResourceType")
        self._action = java_class("org.apache.kafka.server.authorizer.Action")
        self._principal = java_class(f"{common}.security.auth.KafkaPrincipal")
        self._context = java_class(f"{common}.requests.RequestContext")
        self._header = java_class(f"{common}.requests.RequestHeader")
        self._keys = java_class(f"{common}.protocol.ApiKeys")
        self._address = java_class("java.net.InetAddress")
        self._listener = java_class(f"{common}.network.ListenerName")
        self._protocol = java_class(f"{common}.security.auth.SecurityProtocol")
        self._client = java_class(f"{common}.network.ClientInformation")
        self._map = java_class("java.util.LinkedHashMap")
        metrics = java_class(f"{common}.metrics.Metrics")
        self._metrics = java_class(f"{common}.metrics.internals.PluginMetricsImpl")
        self._registry = metrics()
        self._list = java_class("java.util.ArrayList")

    def answer(self, question: dict[str, Any]) -> dict[str, list[Any]]:
        """Decide about all requests with these ACLs."""
        authorizer = self._standard()
        config = self._map()
        config.put("super.users", question["super_users"])
        config.put("allow.everyone.if.no.acl.found", str(question["allow_everyone"]).lower())
        authorizer.configure(config)
        metrics = self._metrics(self._registry, self._map())
        authorizer.withPluginMetrics(metrics)
        known: dict[str, int] = {}
        for index, acl in enumerate(question["acls"]):
            made = self._made(acl)
            authorizer.addAcl(self._uuid(0, index + 1), made)
            known[str(made.toBinding())] = index
        authorizer.completeInitialLoad()
        answer = {
            "requests": [self._may(authorizer, *one) for one in question["requests"]],
            "by_type": [self._may_some(authorizer, *one) for one in question["by_type"]],
            "filters": [
                sorted(known[str(binding)] for binding in authorizer.acls(self._filter_of(one)))
                for one in question["filters"]
            ],
        }
        metrics.close()
        return answer

    def _made(self, acl: list[Any]) -> Any:
        resource_type, pattern_type, name, principal, host, operation, permission = acl
        return self._acl(
            self._resource_type.fromCode(resource_type),
            name,
            self._pattern_type.fromCode(pattern_type),
            principal,
            host,
            self._operation.fromCode(operation),
            self._permission.fromCode(permission),
        )

    def _filter_of(self, one: list[Any]) -> Any:
        resource_type, pattern_type, name, principal, host, operation, permission = one
        return self._filter(
            self._pattern_filter(
                self._resource_type.fromCode(resource_type), name, self._pattern_type.fromCode(pattern_type)
            ),
            self._entry_filter(
                principal, host, self._operation.fromCode(operation), self._permission.fromCode(permission)
            ),
        )

    def _context_of(self, principal: str, host: str) -> Any:
        kind, _, name = principal.partition(":")
        return self._context(
            self._header(self._keys.FETCH, self._keys.FETCH.latestVersion(), "client", 1),
            "1",
            self._address.getByName(host),
            self._principal(kind, name),
            self._listener("PLAIN"),
            self._protocol.PLAINTEXT,
            self._client.EMPTY,
            False,
        )

    def _may(self, authorizer: Any, kind: int, name: str, principal: str, host: str, operation: int) -> bool:
        pattern = self._pattern(self._resource_type.fromCode(kind), name, self._pattern_type.LITERAL)
        actions = self._list()
        actions.add(self._action(self._operation.fromCode(operation), pattern, 1, False, False))
        found = authorizer.authorize(self._context_of(principal, host), actions)
        return str(found.get(0)) == "ALLOWED"

    def _may_some(self, authorizer: Any, kind: int, principal: str, host: str, operation: int) -> bool:
        found = authorizer.authorizeByResourceType(
            self._context_of(principal, host),
            self._operation.fromCode(operation),
            self._resource_type.fromCode(kind),
        )
        return str(found) == "ALLOWED"


def main() -> None:
    """Answer questions until standard input ends."""
    from java_vm import start_java  # on the path of this process only

    start_java(locked_jars.resolve(locked_jars.broker_coordinates(sys.argv[1])))
    authorizer = _Authorizer()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(authorizer.answer(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
