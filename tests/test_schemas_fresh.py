"""What tools/compile_schemas.py wrote is what it would write, and Kafka's own classes agree with it.

Needs the kafka-clients jars and a Java VM: no broker runs.
"""

import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[1] / "tools"


def run_tool(name: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    # A process can start only one Java VM, so each tool runs in its own.
    command = [sys.executable, str(TOOLS / name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


def test_generated_files_are_what_kafkas_jars_say():
    done = run_tool("compile_schemas.py", "--check")

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("release", ["3.9.1", "4.3.1"])
def test_header_versions_and_defaults_are_those_of_kafkas_classes(release):
    done = run_tool("java_oracle.py", release)

    assert (done.returncode, done.stderr) == (0, "")
    assert f"defaults compared with Kafka {release}" in done.stdout
