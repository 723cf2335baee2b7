"""Build the compiled modules; everything else about the package stands in pyproject.toml.

BIFROST_SANITIZE=1 builds it under AddressSanitizer for `make fuzz-asan`.
"""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

sanitize = os.environ.get("BIFROST_SANITIZE") == "1"
compile_args, link_args = ["-O2", "-g0"], []
if sys.platform == "linux":
    # Functions of libpython are called by their addresses, without a stub: some 2 % of the CPU time of a small request.
    compile_args += ["-fno-plt", "-fvisibility=hidden", "-fno-semantic-interposition"]
    link_args += ["-Wl,-z,now,-z,noseparate-code"]
if sanitize:
    compile_args = ["-O1", "-g", "-fsanitize=address", "-fno-omit-frame-pointer"]
    link_args = ["-fsanitize=address"]


def compiled(source: Path) -> Extension:
    """Return the compiled module of a source file."""
    name = ".".join(source.relative_to("src").with_suffix("").parts)
    return Extension(name, [str(source)], extra_compile_args=compile_args, extra_link_args=link_args)


modules = [compiled(source) for source in sorted(Path("src").rglob("*.pyx"))]
setup(ext_modules=cythonize(modules, include_path=["src"], language_level=3))
