"""A gateway whose configuration changes while it runs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from support.gateways.gateway_process import GatewayProcess


class Reloadable(GatewayProcess):
    """A gateway whose configuration the test changes."""

    @property
    def path(self) -> Path:
        return self.directory / "proxy.yaml"

    def change(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Change the file."""
        configuration = yaml.safe_load(self.path.read_text())
        change(configuration)
        # As editors and Kubernetes do it: no reader ever sees half a file.
        new = self.directory / "new.yaml"
        new.write_text(yaml.safe_dump(configuration))
        new.replace(self.path)

    def reload(self, *options: str) -> subprocess.CompletedProcess[str]:
        """Let the command do it."""
        command = [sys.executable, "-m", "bifrost.cli.main", "reload", "--config", str(self.path)]
        return subprocess.run([*command, *options], capture_output=True, text=True, timeout=60, check=False)

    def apply(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Change the file and let the gateway go on with it."""
        self.change(change)
        done = self.reload()
        assert (done.returncode, done.stdout, done.stderr) == (
            0,
            "applied: the gateway goes on with it\n",
            "",
        )
