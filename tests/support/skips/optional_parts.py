"""The parts of a machine that some tests need and that not every machine has.

A test that needs one is skipped where it is missing, with the part's name first in its reason (`lacks`). `make
optional-parts` installs what it can; with BIFROST_SKIPS=fail, as in CI, a skip for want of a part is a failure.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass

from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.spark.runtime import find_java_home
from support.gateways.hosts_file import may_have_hosts

SBIN = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])


@dataclass(frozen=True)
class Part:
    """A part that may be missing."""

    name: str
    """The beginning of the reason of a test that is skipped without it."""
    needed_for: str
    """What is not tested without it."""
    how_to_get: str
    packages: tuple[str, ...] = ()
    """Debian's packages that bring it."""
    wheels: tuple[str, ...] = ()
    """Python's packages that bring it, beside Debian's."""
    is_there: Callable[[], bool] = lambda: True
    is_for_all_tests: bool = True
    """Whether `make test` needs it; otherwise a target of its own does."""


def has_programs(*names: str) -> Callable[[], bool]:
    """Return a check that all programs are there, also where only root looks for them."""
    return lambda: all(shutil.which(name, path=SBIN) for name in names)


def _has_kerberos() -> bool:
    try:
        import gssapi  # noqa: F401
    except (ImportError, OSError):
        return False
    return has_programs("krb5-config", "krb5kdc", "kdb5_util", "kadmin.local", "kinit")()


def _has_jdk_for_spark() -> bool:
    try:
        find_java_home()
    except PipelineError:
        return False
    return True


KERBEROS = "Kerberos"
PROMTOOL = "promtool"
HAPROXY = "HAProxy"
KCAT = "kcat"
BROWSER = "Chromium"
HOST_NAMES = "host names of a program's own"
JDK_FOR_SPARK = "a JDK that Spark starts on"
OLDER_JAVA = "a Java older than 24"
GO = "Go"
NODE = "Node.js"
VAULT = "Vault"
DESCRIPTORS = "file descriptors"
LINUX = "Linux"
CHECKOUT = "a git checkout"

PARTS = (
    Part(
        KERBEROS,
        "GSSAPI of clients and towards brokers, with a real KDC",
        "make optional-parts",
        packages=("krb5-kdc", "krb5-admin-server", "krb5-user", "libkrb5-dev"),
        wheels=("gssapi",),
        is_there=_has_kerberos,
    ),
    Part(
        PROMTOOL,
        "Prometheus's own check of /metrics",
        "make optional-parts",
        packages=("prometheus",),
        is_there=has_programs("promtool"),
    ),
    Part(
        HAPROXY,
        "two gateways behind a load balancer, one killed",
        "make optional-parts",
        packages=("haproxy",),
        is_there=has_programs("haproxy"),
    ),
    Part(
        KCAT,
        "SCRAM with a librdkafka that repeats its nonce",
        "make optional-parts",
        packages=("kcat",),
        is_there=has_programs("kcat"),
    ),
    Part(
        BROWSER,
        "invoices as a browser prints them",
        "make optional-parts",
        packages=("chromium", "poppler-utils"),
        is_there=has_programs("chromium", "pdftotext", "pdfinfo"),
    ),
    Part(
        HOST_NAMES,
        "SNI with real clients",
        "run as root, or allow user namespaces (sysctl kernel.unprivileged_userns_clone=1)",
        packages=("util-linux",),
        is_there=may_have_hosts,
    ),
    Part(
        JDK_FOR_SPARK,
        "the pipeline's jobs",
        "make optional-parts, or install a JDK 17 to 23 and set JAVA_HOME",
        packages=("openjdk-17-jre-headless",),
        is_there=_has_jdk_for_spark,
    ),
    Part(
        OLDER_JAVA, "Java clients from before Kafka 4.0 with SASL", "install Java 17 to 23 and put it on PATH"
    ),
    Part(
        GO,
        "clients of franz-go",
        "put Go 1.26 or newer on PATH; franz-go comes through its module proxy",
        is_there=has_programs("go"),
        is_for_all_tests=False,
    ),
    Part(
        NODE,
        "clients of KafkaJS",
        "put Node.js 18 or newer with npm on PATH; KafkaJS comes from npm's registry",
        is_there=has_programs("node", "npm"),
        is_for_all_tests=False,
    ),
    Part(
        VAULT,
        "keys of encryption from a real Vault",
        "put `vault` on PATH, or name a Vault with root token `root` by BIFROST_TEST_VAULT=http://127.0.0.1:8200",
        is_there=lambda: "BIFROST_TEST_VAULT" in os.environ or has_programs("vault")(),
        is_for_all_tests=False,
    ),
    Part(DESCRIPTORS, "ten thousand connections", "raise the hard limit (ulimit -Hn)"),
    Part(LINUX, "several workers", "run the tests on Linux"),
    Part(CHECKOUT, "rules about the files that git knows", "run the tests in a clone"),
)
"""All of them. What a test is skipped for otherwise is its own choice: another version of Kafka, or a longer run."""


def lacks(part: str, detail: str = "it is not here") -> str:
    """Return the reason for skipping a test for want of a part.

    Args:
        part: one of the names above.
        detail: what exactly is missing.
    """
    assert part in {one.name for one in PARTS}
    return f"{part}: {detail}"


def part_of(reason: str) -> Part | None:
    """Return the part for want of which a test was skipped; None: it was skipped for another reason."""
    return next((part for part in PARTS if reason.startswith(f"{part.name}: ")), None)
