"""Build the compiled modules; everything else about the package stands in pyproject.toml.

BIFROST_SANITIZE=1 builds it under AddressSanitizer for `make fuzz-asan`.
"""

import os

from Cython.Build import cythonize
from setuptools import Extension, setup

sanitize = os.environ.get("BIFROST_SANITIZE") == "1"
compile_args = ["-O1", "-g", "-fsanitize=address", "-fno-omit-frame-pointer"] if sanitize else ["-O2", "-g0"]
link_args = ["-fsanitize=address"] if sanitize else []


def compiled(name: str) -> Extension:
    """Return one of the package's compiled modules."""
    source = f"src/{name.replace('.', '/')}.pyx"
    return Extension(name, [source], extra_compile_args=compile_args, extra_link_args=link_args)


names = (
    "wire.engine",
    "gateway.sockets.frame_relay",
    "gateway.loop.loop_watch",
    "gateway.sockets.socket_stream",
)
modules = [compiled(f"bifrost.{name}") for name in names]
setup(ext_modules=cythonize(modules, include_path=["src"], language_level=3))
