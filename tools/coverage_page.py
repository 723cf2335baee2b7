"""Write docs/protocol-coverage.md from what is served: the table of meanings, the plans and the schema table.

`--check` exits 1 when the committed page is not what this writes.
"""

import sys
from pathlib import Path

from bifrost.filters.build import build_plans
from bifrost.filters.plan import Direction, Plan
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entity import Entity
from bifrost.wire.fields.entities import ANSWERED, REFUSED, entities_of, served_versions
from bifrost.wire.schema import VersionRange, message_schema, request_schema

PAGE = Path(__file__).resolve().parent.parent / "docs" / "protocol-coverage.md"
OWN = {ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE, ApiKey.API_VERSIONS} | ANSWERED

HEAD = """# Protocol coverage

Written by `tools/coverage_page.py`; `make test` checks that it is current.

A client is offered, of each API below, the versions that both the gateway and the broker have. *In place*: names
are replaced in the bytes. *Decoded*: the message goes through filters as well. An API that is not served is not
offered, and refused.

| key | API | Kafka's versions | served | request | response | what is translated |
|---|---|---|---|---|---|---|
"""


def page() -> str:
    """Return the page."""
    plans = build_plans()
    served, answered_no, refused = [], [], []
    for api_key in sorted(ApiKey):
        try:
            known = request_schema(api_key).versions
        except (KeyError, ValueError):
            continue  # Spoken between brokers and controllers only.
        versions = served_versions(api_key)
        if versions is None:
            refused.append(f"{_name(api_key)} ({int(api_key)})")
            continue
        plan = plans.plan_for(api_key, versions.high)
        assert plan is not None
        if api_key in REFUSED:
            answered_no.append(f"{_name(api_key)} ({int(api_key)})")
            continue
        treatment = (
            ("the gateway's own", "the gateway's own")
            if api_key in OWN
            else (_treatment(plan.request), _treatment(plan.response))
        )
        cells = (int(api_key), _name(api_key), _range(known), _range(versions), *treatment, _entities(plan))
        served.append("| " + " | ".join(map(str, cells)) + " |")
    return (
        HEAD
        + "\n".join(served)
        + "\n\n## Offered and always answered no\n\n"
        + _wrapped(answered_no)
        + "\n\n## Not served\n\n"
        + _wrapped(refused)
        + "\n"
    )


def _name(api_key: ApiKey) -> str:
    return request_schema(api_key).name.removesuffix("Request")


def _range(versions: VersionRange) -> str:
    low, high = versions.low, versions.high
    return f"{low}" if low == high else f"{low}-{high}"


def _treatment(direction: Direction) -> str:
    return "decoded" if direction.program is None else "in place"


def _entities(plan: Plan) -> str:
    found: set[Entity] = set()
    for message in (plan.request.message, plan.response.message):
        for version in range(plan.api_version + 1):
            if version in _versions(message):
                found |= set(entities_of(message, version).values())
    return ", ".join(entity.name.lower().replace("_", " ") for entity in sorted(found)) or "nothing"


def _versions(message: str) -> range:
    versions = message_schema(message).versions
    return range(versions.low, versions.high + 1)


def _wrapped(names: list[str]) -> str:
    return ", ".join(sorted(names)) + "."


def main() -> int:
    """Write the page, or compare it."""
    text = page()
    if "--check" in sys.argv[1:]:
        if PAGE.exists() and PAGE.read_text() == text:
            return 0
        print("docs/protocol-coverage.md is not current: run .venv/bin/python tools/coverage_page.py")
        return 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
