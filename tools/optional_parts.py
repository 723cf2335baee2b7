"""What tests need and not every machine has: `install` it, say what is `missing`, or `list FILE` what was skipped.

`install` needs root and apt-get for Debian's packages. What cannot be had is named, its tests are skipped, and the exit
status is 1 if `make test` has them. `missing` says behind a run of CI which parts it did not have, why the last
`install` did not bring them, and what is not tested without them. `list` exits 1 when a test was skipped for want of
one of the parts (`support.skips.optional_parts`), with BIFROST_SKIPS=fail of any, with BIFROST_SKIPS=present of one
that is there.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from support.skips.optional_parts import PARTS, Part
from support.skips.skip_list import FAIL_VARIABLE, is_failure, lines_of, read_skips

ROOT = Path(__file__).resolve().parents[1]
APT = ("apt-get", "install", "-qq", "-y", "--no-install-recommends")


REASONS = ROOT / "build/optional-parts.json"
"""Why `install` did not bring parts, by their names; `missing` reads it after the tests."""
NOT_TRIED = "make optional-parts did not come to its end"


def install(missing: list[Part]) -> dict[str, str]:
    """Install packages for parts, as far as this user may and the machine can; return why not, by the parts' names."""
    reasons = {part.name: part.how_to_get for part in missing}
    packages = [package for part in missing for package in part.packages]
    if packages and os.geteuid() == 0 and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-qq"], env=environment, check=False)
        # One by one: what a release does not have keeps nothing else away.
        for part in missing:
            if part.packages:
                reasons[part.name] = (
                    _why_not([*APT, *part.packages], environment) or "it is not there all the same"
                )
    elif packages:
        print(f"note: as root on Debian: apt-get install {' '.join(packages)}")
        reasons |= {part.name: "only root installs it, on Debian" for part in missing if part.packages}
    pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "-c", "constraints.txt"]
    # By -c: PIP_CONSTRAINT would also bind what builds them.
    for part in missing:
        for wheel in part.wheels:
            reasons[part.name] = _why_not([*pip, wheel], dict(os.environ)) or reasons[part.name]
    return reasons


def _why_not(command: list[str], environment: dict[str, str]) -> str:
    """Run a command that installs something; return its last error, an empty text if it succeeded."""
    done = subprocess.run(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True, check=False)
    sys.stderr.write(done.stderr)
    errors = [line.strip() for line in done.stderr.splitlines() if line.startswith(("E: ", "ERROR: "))]
    return (errors or [f"{command[0]} ended with status {done.returncode}"])[-1] if done.returncode else ""


def lines_of_missing(reasons: dict[str, str]) -> list[str]:
    """Return what a run of `make test` did not have, and why."""
    missing = [part for part in PARTS if part.is_for_all_tests and not part.is_there()]
    if not missing:
        return ["Every part was there that `make test` needs."]
    names = ", ".join(part.name for part in missing)
    return [
        f"This run had no {names}: what needs them was SKIPPED, and the run does not fail for it.",
        *(
            f"  {one.name}: {reasons.get(one.name, NOT_TRIED)}; not tested: {one.needed_for}"
            for one in missing
        ),
    ]


def main() -> int:
    """Do what the arguments say; see the module."""
    if sys.argv[1:] == ["install"]:
        REASONS.unlink(missing_ok=True)
        reasons = install([part for part in PARTS if not part.is_there()])
        missing = [part for part in PARTS if not part.is_there()]
        REASONS.parent.mkdir(exist_ok=True)
        REASONS.write_text(json.dumps({part.name: reasons[part.name] for part in missing}), encoding="utf-8")
        for part in missing:
            print(f"note: no {part.name}; not tested without it: {part.needed_for}")
        return 1 if any(part.is_for_all_tests for part in missing) else 0
    if sys.argv[1:] == ["missing"]:
        print("\n".join(lines_of_missing(json.loads(REASONS.read_text()) if REASONS.exists() else {})))
        return 0
    if len(sys.argv) != 3 or sys.argv[1] != "list":
        print(__doc__)
        return 2
    reasons = read_skips(Path(sys.argv[2]))
    print("\n".join(lines_of(reasons)))
    if is_failure(reasons):
        wanted = os.environ[FAIL_VARIABLE]
        print(
            f"error: {FAIL_VARIABLE}={wanted}, and a test was skipped for want of a part: see above how to get it"
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
