"""Write docs/configuration.md from the model of the configuration and the documentation under its fields.

`--check` exits 1 when the committed page is not what this writes.
"""

import ast
import inspect
import re
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from pydantic.fields import FieldInfo

from bifrost.config import fields, model, policies, quotas, records
from bifrost.config.secrets import READ_FROM_FILES
from bifrost.config.section import Section

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "configuration.md"

HEAD = """# Configuration

Written by `tools/configuration_page.py` from `src/bifrost/config/model.py`; a test checks that it is current.

    bifrost check --config proxy.yaml    # would it be taken?
    bifrost run --config proxy.yaml

The gateway reads one YAML file when it starts, or Kubernetes-style documents, which
[virtual-clusters.md](virtual-clusters.md) explains, or the file of a partition remapper
([partition-remapper.md](partition-remapper.md)). `bifrost check` does the same and starts nothing. Everything that
is wrong is reported at once, each as `file:line: what and how to mend it`, and the exit status is 2:

    proxy.yaml:14: tenants[0].alowed_topics: unknown key; did you mean allowed_topics?
    proxy.yaml:17: tenants[0].auth.credentials[0].password_file: password file secrets/acme.password: no such file; \
a relative path starts at the folder of this file

* A key that is not below is an error, and so are a key given twice and a key without a value.
* A **size** is a whole number of bytes or a number with `B`, `KiB`, `MiB` or `GiB`; a **duration** a whole number of
  milliseconds or a number with `ms`, `s`, `min` or `h`. Numbers, texts and truth values are not turned into each other.
* Anchors, aliases and merge keys (`<<`) work; tags do not. The file is UTF-8 and at most 1 MiB.
* Passwords stand in files of their own and are never printed; only a partition remapper's file may have some itself.

**Editors** complete the keys, show what each means and mark what cannot be, by a JSON Schema (draft 2020-12):
[config.schema.json](config.schema.json), which `bifrost schema` prints for the version that is installed. With the
YAML language server (VS Code, Neovim, ...) name it in the first line of the file:

    # yaml-language-server: $schema=https://example.com/config.schema.json

where a path works as well as an address. It refuses what has the wrong form, keys that exclude or need each other, and
equal items of a list. What no schema can say, `bifrost check` does: names that refer to each other or overlap, numbers
that are compared, ports that are taken twice, and the files that are named.

[examples/proxy.yaml](../examples/proxy.yaml) is the file below;
[examples/every-setting.yaml](../examples/every-setting.yaml) has every key, and [authentication.md](authentication.md)
says which credential to choose.

```yaml
"""

MODULES = (
    model,
    *(
        import_module(f"{room.__name__}.{one.name}")
        for room in (fields, policies, quotas, records)
        for one in iter_modules(room.__path__)
    ),
)
"""Where the sections of the file are."""

KINDS = {
    "AclHost": "IP address or `*`",
    "AclMode": "`gateway` or `broker`",
    "AclName": "text",
    "AclOperation": "one of Kafka's operations",
    "AclPattern": "`LITERAL` or `PREFIXED`",
    "AclPermission": "`ALLOW` or `DENY`",
    "AclPrincipal": "text",
    "AclResource": "`TOPIC`, `GROUP`, `CLUSTER` or `TRANSACTIONAL_ID`",
    "AdvertisedHost": "host",
    "ClientAuth": "`none`, `requested` or `required`",
    "Bound | None": "number, size or duration",
    "ClientIds | None": "`namespaced` or `unchanged`",
    "Claim": "text",
    "Claim | None": "text",
    "Role": "`operator` or `viewer`",
    "ConfigValue": "text, number, or `true` or `false`",
    "Count": "whole number",
    "Count | None": "whole number",
    "DurationMs": "duration",
    "FilterDirection | None": "`produce` or `fetch`",
    "FilterName": "`RecordHeaders`, `ProducePolicy`, `Masking`, `PythonTransform`, `EnvelopeEncryption` or "
    "`SchemaValidator`",
    "SchemaLevel": "`id`, `schema` or `rules`",
    "SubjectName": "`topic`, `record` or `topic_record`",
    "FailMode": "`closed` or `open`",
    "Expression": "text",
    "tuple[SchemaPart, ...]": "list of `key` and `value`",
    "Flag": "`true` or `false`",
    "Flag | None": "`true` or `false`",
    "HeaderKey": "text",
    "HeaderValue": "text",
    "Host": "host",
    "HostPattern": "host, with `{tenant}` and `{node_id}`",
    "Port | None": "port, 1 to 65535",
    "Name | None": "text",
    "NamespacePath | None": "text",
    "Literal[':', '..', '__']": "`:`, `..` or `__`",
    "Literal['tiers', 'dotted']": "`tiers` or `dotted`",
    "Prefix | None": "text",
    "Host | None": "host",
    "JsonConstant | None": "text, number, or `true` or `false`",
    "JsonPath": "text",
    "MaskAction": "`hash`, `last_four`, `set_null` or `constant`",
    "UnreadableValue": "`set_null` or `error`",
    "ValueFormat": "`json` or `schema`",
    "KmsProvider | None": "`Vault`, `AwsKms` or `KeyFile`",
    "KeyId": "text",
    "KeyId | None": "text",
    "SealMode": "`batches`, `values` or `fields`",
    "MissingKey": "`fail` or `skip`",
    "Instant | None": "date or time",
    "KerberosPart": "text",
    "Name": "text",
    "TopicName": "text",
    "Port": "port, 1 to 65535",
    "Rate | None": "number above 0",
    "NamespacePath": "text",
    "PrincipalMappingRules": "text",
    "ProxyProtocolSetting": "`off`, `allowed` or `required`",
    "SecurityProtocol": "`PLAINTEXT`, `SSL`, `SASL_PLAINTEXT` or `SASL_SSL`",
    "SizeBytes": "size",
    "Workers": "whole number, 1 to 64, or `auto`",
    "SizeBytes | None": "size",
    "Text": "text",
    "TopicName | None": "text",
    "Text | None": "text",
    "TlsVersion": "`TLSv1.2` or `TLSv1.3`",
    "HttpUrl | None": "URL, `http://` or `https://`",
    "UpstreamMechanism | None": "text",
    "Username": "text",
    "Username | None": "text",
    "Url | None": "URL",
    "tuple[AclPrincipal, ...]": "list of texts",
    "tuple[AcksValue, ...] | None": "list of texts",
    "tuple[Algorithm, ...]": "list of texts",
    "tuple[BrokerAddress, ...]": "list of `host:port`",
    "tuple[CodecName, ...] | None": "list of texts",
    "tuple[HeaderKey, ...]": "list of texts",
    "tuple[JsonPath, ...]": "list of texts",
    "tuple[Tag, ...]": "list of texts",
    "tuple[KeyId, ...]": "list of texts",
    "tuple[LocalRule, ...]": "list of texts",
    "tuple[Mechanism, ...] | None": "list of texts",
    "tuple[Name, ...] | None": "list of texts",
    "tuple[Principal, ...]": "list of texts",
    "tuple[Scope, ...]": "list of texts",
    "tuple[TopicPattern, ...]": "list of texts",
    "tuple[Text, ...]": "list of texts",
    "tuple[Text, ...] | None": "list of texts",
    "tuple[ListedTopic, ...] | None": "list of texts",
    "tuple[NamePattern, ...]": "list of texts",
    "tuple[NamespacePath, ...]": "list of texts",
    "tuple[Username, ...]": "list of texts",
}
"""What the types of the model are to a reader; a type that is not here is a section or stops the tool."""


def page() -> str:
    """Return the page."""
    example = (ROOT / "examples" / "proxy.yaml").read_text(encoding="utf-8")
    without_comments = "".join(line for line in example.splitlines(True) if not line.startswith("#"))
    classes = {
        node.name: node
        for module in MODULES
        for node in ast.parse(inspect.getsource(module)).body
        if isinstance(node, ast.ClassDef) and issubclass(getattr(module, node.name), Section)
    }
    sections = _sections("Config", "", classes, {})
    return HEAD + without_comments + "```\n\n" + "\n\n".join(sections) + "\n"


def _sections(name: str, path: str, classes: dict[str, ast.ClassDef], told: dict[str, str]) -> list[str]:
    """Return a section of the page for this class and for each that its fields hold, in the order of the file.

    Args:
        name: of the class.
        path: where it stands in the file.
        classes: all that there are.
        told: where each class is told of already; the same section in another place is not told of again.
    """
    node = classes[name]
    told[name] = path
    lines = [f"## {path or 'The file'}", "", _flat(ast.get_docstring(node) or "", keep_paragraphs=True)]
    inner = []
    for field, annotation, text in _fields(node, classes):
        info: FieldInfo = _class(name).model_fields[field]
        held = next((part for part in re.findall(r"\w+", annotation) if part in classes), None)
        if held:
            here = f"{path}.{field}".removeprefix(".")
            below = here + ("[]" if annotation.startswith("tuple") else "")
            if held in told:
                below = told[held]
            else:
                inner += _sections(held, below, classes, told)
            kind = "list of sections" if below.endswith("[]") else "section"
            kind = f"{kind}, [{below}](#{re.sub('[^a-z_]', '', below)})"
        elif field in READ_FROM_FILES:
            kind = "not a key"
        else:
            kind = KINDS[annotation]
        lines += ["", f"**`{field}`** ({kind}{_bounds(info)})  ", _flat(text)]
    return ["\n".join(lines), *inner]


def _class(name: str) -> type[Section]:
    return next(getattr(module, name) for module in MODULES if hasattr(module, name))


def _fields(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> list[tuple[str, str, str]]:
    """Return (name, annotation, documentation) of every field, those of its base classes first."""
    bases = [classes[name] for base in node.bases if (name := ast.unparse(base)) in classes]
    found = [field for base in bases for field in _fields(base, classes)]
    for statement, after in zip(node.body, [*node.body[1:], None], strict=True):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        name = statement.target.id
        if name.startswith("_"):
            continue  # not a key of the file
        match after:
            case ast.Expr(value=ast.Constant(value=str(text))):
                found.append((name, ast.unparse(statement.annotation), text))
            case _:
                raise SystemExit(f"error: {node.name}.{name} has no documentation under it")
    return found


def _bounds(info: FieldInfo) -> str:
    """Return `, 100 to 100,000` for a field that has bounds of its own."""
    low = next((bound.ge for bound in info.metadata if hasattr(bound, "ge")), None)
    high = next((bound.le for bound in info.metadata if hasattr(bound, "le")), None)
    return "" if low is None or high == 65535 else f", {low:,} to {high:,}"


def _flat(text: str, *, keep_paragraphs: bool = False) -> str:
    """Return text with a line for each paragraph."""
    paragraphs = text.split("\n\n") if keep_paragraphs else [text]
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def main(arguments: list[str]) -> int:
    """Run the tool; return its exit code."""
    fresh = page()
    if arguments == ["--check"]:
        is_current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == fresh
        if not is_current:
            print(
                f"{PAGE.relative_to(ROOT)} is not current: run .venv/bin/python tools/configuration_page.py"
            )
        return 0 if is_current else 1
    PAGE.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
