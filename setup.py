"""Build the one compiled module; everything else about the package stands in pyproject.toml.

BIFROST_SANITIZE=1 builds it under AddressSanitizer for `make fuzz-asan`.
"""

import os

from Cython.Build import cythonize
from setuptools import Extension, setup

sanitize = os.environ.get("BIFROST_SANITIZE") == "1"
compile_args = ["-O1", "-g", "-fsanitize=address", "-fno-omit-frame-pointer"] if sanitize else ["-O2", "-g0"]
link_args = ["-fsanitize=address"] if sanitize else []

setup(
    ext_modules=cythonize(
        [
            Extension(
                "bifrost.wire.engine",
                ["src/bifrost/wire/engine.pyx"],
                extra_compile_args=compile_args,
                extra_link_args=link_args,
            )
        ],
        language_level=3,
    )
)
