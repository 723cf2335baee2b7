"""What tests need and not every machine has: `install` what is missing, or `list FILE` what tests were skipped for.

`install` needs root and apt-get for Debian's packages. What cannot be had is named, its tests are skipped, and the exit
status is 1 if `make test` has them. `list` exits 1 when a test was skipped for want of one of the parts
(`support.skips.optional_parts`), with BIFROST_SKIPS=fail of any, with BIFROST_SKIPS=present of one that is there.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from support.skips.optional_parts import PARTS, Part
from support.skips.skip_list import FAIL_VARIABLE, is_failure, lines_of, read_skips

ROOT = Path(__file__).resolve().parents[1]
APT = ("apt-get", "install", "-qq", "-y", "--no-install-recommends")


def install(missing: list[Part]) -> None:
    """Install packages for parts, as far as this user may and the machine can."""
    packages = [package for part in missing for package in part.packages]
    if packages and os.geteuid() == 0 and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-qq"], env=environment, check=False)
        # One by one: what a release does not have keeps nothing else away.
        for part in missing:
            subprocess.run([*APT, *part.packages], env=environment, check=False)
    elif packages:
        print(f"note: as root on Debian: apt-get install {' '.join(packages)}")
    pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "-c", "constraints.txt"]
    # By -c: PIP_CONSTRAINT would also bind what builds them.
    for wheel in (wheel for part in missing for wheel in part.wheels):
        subprocess.run([*pip, wheel], cwd=ROOT, check=False)


def main() -> int:
    """Do what the arguments say; see the module."""
    if sys.argv[1:] == ["install"]:
        install([part for part in PARTS if not part.is_there()])
        missing = [part for part in PARTS if not part.is_there()]
        for part in missing:
            print(f"note: no {part.name}; not tested without it: {part.needed_for}")
        return 1 if any(part.is_for_all_tests for part in missing) else 0
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
