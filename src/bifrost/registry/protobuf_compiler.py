"""Compiles a Protobuf schema: registries keep its text, readers need its descriptors.

protoc itself does it, Google's compiler as `grpcio-tools` ships it (released often, Apache licence), in a process of
its own: a text that makes it hang or end costs one schema, not the gateway. Registries offer descriptors too
(`format=serialized`), but Apicurio's do not fit together with those of the references.
"""

import subprocess
import sys
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from bifrost.schemas.readers.reader import SchemaError
from bifrost.schemas.registered_schema import RegisteredSchema

COMPILE_TIMEOUT_S = 20.0
"""Time limit of one compilation, which takes some 100 ms."""
_OWN = "bifrost_schema.proto"
_MAX_NAME = 512


def compile_protobuf(schema: RegisteredSchema) -> bytes:
    """Return the FileDescriptorSet of a schema, its own file last.

    Raises:
        SchemaError: it does not compile, or protoc is not installed.
    """
    with TemporaryDirectory(prefix="bifrost-proto-") as folder:
        root = Path(folder)
        _write(root, _OWN, schema.text)
        for one in schema.references:
            _write(root, one.name, one.text)
        made = root / "bifrost_schema.set"
        command = [
            sys.executable,
            "-m",
            "grpc_tools.protoc",
            f"--proto_path={root}",
            f"--proto_path={_well_known()}",
            "--include_imports",
            f"--descriptor_set_out={made}",
            _OWN,
        ]
        try:
            done = subprocess.run(
                command, capture_output=True, timeout=COMPILE_TIMEOUT_S, check=False, cwd=root
            )
        except subprocess.TimeoutExpired:
            raise SchemaError(f"protoc takes more than {COMPILE_TIMEOUT_S:g} s") from None
        if done.returncode or not made.is_file():
            raise SchemaError("it is no Protobuf schema, or a reference is missing")
        return made.read_bytes()


def _well_known() -> Path:
    try:
        import grpc_tools
    except ImportError:
        raise SchemaError(
            "nothing compiles PROTOBUF here: pip install '.[schemas]' in a clone of Bifrost"
        ) from None
    assert grpc_tools.__file__ is not None
    return Path(grpc_tools.__file__).parent / "_proto"


def _write(root: Path, name: str, text: str) -> None:
    """Write a file where imports look for it; its name comes from the registry."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not name.isprintable() or not 0 < len(name) <= _MAX_NAME:
        raise SchemaError("a reference has a name that no import can have")
    place = root / path
    if place.exists():
        raise SchemaError("two references have the same name")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")
