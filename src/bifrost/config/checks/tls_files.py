"""Check, while a configuration is loaded, that the gateway can serve TLS with its files.

Only sections that the model accepts are checked here: the model reports every other mistake in a section.
"""

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from bifrost.config.explain import show_loc
from bifrost.config.fields.server_tls import ServerTls
from bifrost.config.files.reading import path_hint
from bifrost.config.files.server_context import FILE_KEYS, ServerContextError, build_server_context
from bifrost.config.loc import Loc


def check_tls_files(data: dict[str, object], folder: Path) -> Iterator[tuple[Loc, str]]:
    """Make the paths of every section `tls` absolute, relative to `folder`, and yield what is wrong with the files.

    The paths are made absolute in `data`, because the files are read again long after the configuration.
    """
    for loc, section in _sections(data):
        given = {key: section[key] for key in FILE_KEYS if isinstance(section.get(key), str) and section[key]}
        for key, name in given.items():
            section[key] = str((folder / str(name)).absolute())
        try:
            build_server_context(ServerTls.model_validate(section))
        except ValidationError:
            continue
        except ServerContextError as error:
            at: Loc = (*loc, error.key)
            name = str(given.get(error.key, ""))
            hint = path_hint(name, folder / name) if name else ""
            yield at, f"{show_loc(at)}: {error}{hint}"


def _sections(data: dict[str, object]) -> Iterator[tuple[Loc, dict[str, object]]]:
    """Yield every section `tls` that is a mapping, and its place."""
    proxy = data.get("proxy")
    control = proxy.get("control") if isinstance(proxy, dict) else None
    of_control = control.get("tls") if isinstance(control, dict) else None
    if isinstance(of_control, dict):
        yield ("proxy", "control", "tls"), of_control
    sets = proxy.get("listener_sets") if isinstance(proxy, dict) else None
    for index, one in enumerate(sets if isinstance(sets, list) else ()):
        section = one.get("tls") if isinstance(one, dict) else None
        if isinstance(section, dict):
            yield ("proxy", "listener_sets", index, "tls"), section
