"""Build the compiled modules; everything else about the package stands in pyproject.toml.

BIFROST_SANITIZE=1 builds it under AddressSanitizer for `make fuzz-asan`.
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

sanitize = os.environ.get("BIFROST_SANITIZE") == "1"
compile_args = ["-O1", "-g", "-fsanitize=address", "-fno-omit-frame-pointer"] if sanitize else ["-O2", "-g0"]
link_args = ["-fsanitize=address"] if sanitize else []


def compiled(source: Path) -> Extension:
    """Return the compiled module of a source file."""
    name = ".".join(source.relative_to("src").with_suffix("").parts)
    return Extension(name, [str(source)], extra_compile_args=compile_args, extra_link_args=link_args)


modules = [compiled(source) for source in sorted(Path("src").rglob("*.pyx"))]
setup(ext_modules=cythonize(modules, include_path=["src"], language_level=3))
