"""The form of a text, by the function of the loader that checks it."""

from collections.abc import Mapping
from typing import Any

from bifrost.config import values
from bifrost.config.fields import acls, kerberos, oauth, sni
from bifrost.config.policies import namespace_policy, policy
from bifrost.config.policies.config_table import GROUP_CONFIGS, TOPIC_CONFIGS, Decision
from bifrost.config.principals import principal_mapping
from bifrost.config.records import encryption_config, filter_rule, masking_config
from bifrost.config.schema_rules.pieces import Schema, when, without

_NAME = "^[a-zA-Z0-9._-]+$"
_HOST_NAME = "[a-zA-Z0-9_](?:[a-zA-Z0-9_.-]*[a-zA-Z0-9_.])?"
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"{_BYTE}(?:\.{_BYTE}){{3}}"
_GROUP = "[0-9a-fA-F]{0,4}"
_IPV6 = rf"{_GROUP}:(?:{_GROUP}:)+(?:{_GROUP}|{_IPV4})(?:%[^%/]+)?"
_HOST = rf"^(?:{_IPV4}|(?!.*\.\.)(?![0-9.]+$){_HOST_NAME}|{_IPV6})$"
URL = rf"^https?://(?:\[[0-9a-fA-F:.]+\]|{_HOST_NAME})(?::[0-9]{{1,5}})?(?:[/?][!-\"$-~]*)?$"
TIER = r"(?!\.{1,2}(:|$))[a-zA-Z0-9._-]+"
_PATH_NAME = r"(?:\*|[^.\[\]*]+)(?:\[\*\])?"
_LABEL_PART = r"(?:[a-zA-Z0-9]|\{tenant\}|\{node_id\})"
_LABEL = rf"{_LABEL_PART}(?:(?:-|{_LABEL_PART})*{_LABEL_PART})?"
_SNI_HOST = r"^(?!.*\{tenant\}.*\{tenant\})(?!.*\{node_id\}.*\{node_id\})" rf"{_LABEL}(?:\.{_LABEL})*$"
_LOCAL_RULE = r"^(DEFAULT|RULE:\[[0-9]+:[^\]]*\](\([^)]*\))?(s/[^/]*/[^/]*/g?)?/?[LU]?)$"
_PART_OF_RULE = r"(?:\\[\s\S]|[^\\/])*"
_MAPPING_RULE = rf"(?:DEFAULT|RULE:{_PART_OF_RULE}/{_PART_OF_RULE}/[LU]?)?"
_MAPPING = rf"^(?=[\s\S]*(DEFAULT|RULE:))\s*{_MAPPING_RULE}\s*(,\s*{_MAPPING_RULE}\s*)*$"
_DATE = "[0-9]{4}-?(?:[0-9]{2}-?[0-9]{2}|W[0-9]{2}(?:-?[0-9])?)"
_INSTANT = rf"^{_DATE}(?:[\s\S][0-9]{{2}}[0-9:.,]*(?:Z|[+-][0-9]{{2}}[0-9:.,]*)?)?$"
_PRINTABLE = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$"


def _configs(known: Mapping[str, Decision]) -> Schema:
    """Return the schema of a rule for one of these configs: its name, and what suits its kind."""
    no_numbers = [name for name, one in known.items() if one.kind not in policy.NUMBERS]
    no_choices = [name for name, one in known.items() if one.kind not in policy.CHOICES]
    return {
        "properties": {"name": {"enum": list(known)}},
        "allOf": [
            when({"properties": {"name": {"enum": no_numbers}}}, without("min", "max")),
            when({"properties": {"name": {"enum": no_choices}}}, without("values")),
        ],
    }


FORMS: Mapping[Any, Schema] = {
    values._check_name: {"pattern": _NAME},
    values._check_topic: {"pattern": r"^(?!\.{1,2}$)[a-zA-Z0-9._-]+$"},
    values._check_listed_topic: {"pattern": f"^({TIER}:)*{TIER}$"},
    values._check_namespace: {"pattern": f"^{TIER}(:{TIER})*$"},
    values._check_username: {"allOf": [{"pattern": _PRINTABLE}, {"pattern": r"^\S(.*\S)?$"}]},
    values._check_host: {"pattern": _HOST, "maxLength": 253},
    values._check_advertised_host: {"pattern": _HOST, "maxLength": 253, "not": {"enum": ["0.0.0.0", "::"]}},  # noqa: S104
    values._check_http_url: {"pattern": URL},
    oauth._check_url: {"pattern": URL},
    oauth._check_claim: {"pattern": _PRINTABLE},
    kerberos._check_part: {"pattern": _NAME},
    kerberos._check_rule: {"pattern": _LOCAL_RULE},
    principal_mapping._check: {"pattern": _MAPPING},
    values._check_principal: {"allOf": [{"pattern": _PRINTABLE}, {"pattern": "^User:."}]},
    acls._check_acl_host: {"pattern": r"^(\*|[0-9]+(\.[0-9]+){3}|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*(%.+)?)$"},
    sni._check_pattern: {"pattern": _SNI_HOST},
    filter_rule._check_pattern: {"pattern": r"^[a-zA-Z0-9._:*-]+$"},
    encryption_config._check_instant: {"pattern": _INSTANT},
    masking_config._check_path: {"pattern": rf"^{_PATH_NAME}(\.{_PATH_NAME}){{0,15}}$"},
    policy.OF_TOPICS.func: _configs(TOPIC_CONFIGS),
    policy.OF_GROUPS.func: _configs(GROUP_CONFIGS),
    namespace_policy._check_pattern: {"pattern": r"^(?!.*\*\*)"},
}
"""What a value has to look like, by the function of the loader that checks it. A schema may accept more, never less."""
