"""The page of served APIs says what the code serves."""

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


def test_the_coverage_page_is_what_the_tool_writes():
    check = [sys.executable, str(REPOSITORY / "tools" / "coverage_page.py"), "--check"]

    result = subprocess.run(check, check=False, capture_output=True, text=True, timeout=60)

    assert result.returncode == 0, result.stdout + result.stderr
