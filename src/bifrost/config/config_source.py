"""Where a gateway's configuration comes from: at its start, and again at every reload.

Today that is a file or a folder, with the files that it names. The gateway, its workers' supervisor and the commands
know only `ConfigSource`, so that another source can take the place of the files.
"""

import os
from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bifrost.config.files.exposed_files import exposed_files
from bifrost.config.files.watched_files import files_of, signature
from bifrost.config.load import load
from bifrost.config.model import Config

SALT_KEY_BYTES = 32


class ConfigSource(Protocol):
    """A source of one gateway's configuration. Its methods may block."""

    @property
    def name(self) -> str:
        """The source's name in messages and log lines; of files, their path."""

    def read(self) -> Config:
        """Return the configuration as it is now.

        Raises:
            ConfigError: the configuration is wrong; it has every problem found, each with its place.
        """

    def parts(self, config: Config) -> tuple[str, ...]:
        """Return what belongs to the source because `config` names it, such as files of passwords.

        It goes through the whole configuration; for 10,000 tenants that takes a tenth of a second.
        """

    def signature(self, parts: tuple[str, ...]) -> Hashable:
        """Return a value that changes when the source does, or one of its parts."""


@dataclass(frozen=True, slots=True)
class ConfigFiles:
    """A configuration in a file, or in the files of a folder."""

    path: Path
    salt_key: bytes = field(repr=False)
    """Random bytes of this process, by which the salts of derived verifiers are made, so that unchanged files give an
    equal configuration each time."""

    @property
    def name(self) -> str:
        """The path, as the operator wrote it."""
        return str(self.path)

    def read(self) -> Config:
        """Read the files, and those that they name.

        Raises:
            ConfigError: the configuration is wrong; it has every problem found, each with its file and line.
        """
        return load(self.path, self.salt_key)

    def parts(self, config: Config) -> tuple[str, ...]:
        """Return the paths of the files that a configuration names."""
        folder = self.path if self.path.is_dir() else self.path.parent
        return tuple(os.path.join(folder, name) for name in sorted(frozenset(files_of(config))))

    def signature(self, parts: tuple[str, ...]) -> Hashable:
        """Return a value that changes when one of the files does, by its inode, size or time of change."""
        return signature(self.path, parts)

    def exposed(self, config: Config) -> list[str]:
        """Return the files of secrets that every user of this machine can read or change."""
        return exposed_files(config, self.path if self.path.is_dir() else self.path.parent)
