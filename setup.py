"""Builds the compiled kernel; all else is in pyproject.toml. Without a C++ compiler, lsip is installed without it.

`LSIP_KERNEL_BUILD=require` fails where the kernel cannot be built; `LSIP_KERNEL_BUILD=none` leaves it out. On Windows
`CXX` names the compiler, GCC's or Clang's; Microsoft's own has no vectors of doubles.
"""

import os
import shlex
import subprocess
import sys
from glob import glob
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

WANTED = os.environ.get("LSIP_KERNEL_BUILD", "try")
if WANTED not in ("try", "require", "none"):
    raise SystemExit(f"LSIP_KERNEL_BUILD is try, require or none; got {WANTED!r}.")

# Rounding upward must survive the compiler: nothing is contracted, reordered or computed in advance.
FLAGS = ["-O2", "-std=c++17", "-frounding-math", "-ffp-contract=off", "-fno-math-errno"]
QUIET = ["-fvisibility=hidden", "-Wno-psabi", "-g0"]
# Symbols that nobody calls are left out of the library, but not where a sanitiser names them.
SANITISED = "-fsanitize" in os.environ.get("CFLAGS", "")
STRIP = ["-Wl,-s"] if sys.platform.startswith("linux") and not SANITISED else []


class Kernel(build_ext):
    """Remember whether the kernel was built."""

    built = False

    def build_extension(self, ext: Extension) -> None:
        """Build one library."""
        if sys.platform == "win32":
            self._build_with_clang(ext)
        else:
            super().build_extension(ext)
        Kernel.built = True

    def _build_with_clang(self, ext: Extension) -> None:
        """Compile and link at once: the kernel needs no header and no library of Python."""
        target = Path(self.get_ext_fullpath(ext.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        compiler = shlex.split(os.environ.get("CXX", "clang++"))
        try:
            subprocess.run([*compiler, "-shared", *ext.extra_compile_args, *ext.sources, "-o", str(target)], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise CompileError(f"{compiler[0]} cannot build the kernel: {error}") from error


class Wheel(bdist_wheel):
    """A wheel without the kernel is one for every machine, and its name says so."""

    def get_tag(self) -> tuple[str, str, str]:
        """The tag of the wheel, which is asked for when everything has been built."""
        if self.distribution.ext_modules and Kernel.built:
            return super().get_tag()
        self.root_is_pure = True
        return "py3", "none", "any"


setup(
    ext_modules=[
        Extension(
            "lsip.kernel._native",
            [f"lsip/kernel/{part}.cpp" for part in ("kernel", "bounds", "rows", "search", "sparsity")],
            depends=glob("lsip/kernel/*.inl") + glob("lsip/kernel/*.hpp"),
            extra_compile_args=FLAGS + QUIET,
            extra_link_args=STRIP,
            language="c++",
            optional=WANTED == "try",
            py_limited_api=True,  # it knows nothing of Python: one build serves every version
        )
    ]
    if WANTED != "none"
    else [],
    cmdclass={"build_ext": Kernel, "bdist_wheel": Wheel},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
