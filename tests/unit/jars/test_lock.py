from __future__ import annotations

import tomllib

from bifrost.jars.lock import format_lock
from bifrost.jars.locked_jars import LockedJar


def test_lock_file_is_toml_with_one_line_per_jar() -> None:
    jars = [LockedJar("g:a:1", "ab" * 32, 5), LockedJar("g:b:2", "cd" * 32, 6)]

    text = format_lock(["g:a:1"], ["g:x"], jars)

    assert tomllib.loads(text) == {
        "coordinates": ["g:a:1"],
        "without": ["g:x"],
        "jars": [
            {"jar": "g:a:1", "sha256": "ab" * 32, "bytes": 5},
            {"jar": "g:b:2", "sha256": "cd" * 32, "bytes": 6},
        ],
    }
    assert len(text.splitlines()) == 7


def test_nothing_left_out_is_not_mentioned() -> None:
    assert "without" not in tomllib.loads(format_lock(["g:a:1"], [], []))
