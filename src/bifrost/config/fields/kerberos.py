"""How clients prove who they are by Kerberos tickets: the section `proxy.kerberos`.

Names and defaults are those of Kafka's own settings `sasl.kerberos.*` where it has one.
"""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from bifrost.config.principals.kerberos_rules import read_rule
from bifrost.config.section import Section
from bifrost.config.values import Host, Text


def _check_rule(rule: str) -> str:
    read_rule(rule)
    return rule


def _check_part(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]+", name):
        raise ValueError(f"{name!r} has characters other than a-z, A-Z, 0-9, '.', '_' and '-'")
    return name


LocalRule = Annotated[Text, AfterValidator(_check_rule)]
KerberosPart = Annotated[Text, Field(max_length=256), AfterValidator(_check_part)]


class Kerberos(Section):
    """How clients prove who they are by Kerberos tickets (SASL/GSSAPI).

    This needs the extra `gssapi` of Bifrost and MIT Kerberos, whose own configuration (`/etc/krb5.conf`, or
    where the environment variable `KRB5_CONFIG` says) names the realms. The gateway asks no key distribution center:
    the keys in the keytab are enough.
    """

    keytab_file: Text = Field(examples=['"secrets/kafka.keytab"'])
    """File with the keys of the gateway's own principal, `service_name/host@REALM` for each host by which clients reach
    it; a relative path starts at the folder of the configuration file. Keys that are added to it are valid at once.
    Required."""

    realm: KerberosPart = Field(examples=["EXAMPLE.COM"])
    """The gateway's realm: `DEFAULT` in `principal_to_local_rules` gives its principals their first part as name.
    Required, because it decides which user a principal is."""

    service_name: KerberosPart = "kafka"
    """First part of the gateway's own principal, as Kafka's `sasl.kerberos.service.name` at the clients. Default
    `kafka`."""

    hostname: Host | None = None
    """Second part of the gateway's own principal. Default: the key is absent and every host is valid for which the
    keytab has a key of the service, so clients can reach the gateway by several names: Java clients ask for a ticket
    for the `advertised_host`, and for the host they bootstrap from."""

    principal_to_local_rules: tuple[LocalRule, ...] = Field(
        default=("DEFAULT",), min_length=1, max_length=100
    )
    """How a Kerberos principal becomes one of a tenant's `principals`: Kafka's
    `sasl.kerberos.principal.to.local.rules`, each rule an entry, the first that applies is used. Default `DEFAULT`
    alone: `alice@REALM` and `alice/host@REALM` of the gateway's realm are `alice`, and every other principal is
    refused. Patterns are Python's; constructs that Java reads differently are refused."""

    replay_cache: Text | None = None
    """Where the authenticators of tickets are recorded, so that none is accepted twice: in MIT Kerberos's notation,
    `file2:/path` or `dfl:`, or `none:` where the network cannot be eavesdropped on. Default: the key is absent and the
    environment variable `KRB5RCACHENAME` or the system decides: a file of this user in `/var/tmp`."""
