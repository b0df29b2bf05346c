"""Builds the compiled kernel; all else is in pyproject.toml. Without a C++ compiler, lsip is installed without it."""

from glob import glob

from setuptools import Extension, setup

# Rounding upward must survive the compiler: nothing is contracted, reordered or computed in advance.
FLAGS = ["-O2", "-std=c++17", "-frounding-math", "-ffp-contract=off", "-fno-math-errno"]
QUIET = ["-fvisibility=hidden", "-Wno-psabi"]

setup(
    ext_modules=[
        Extension(
            "lsip.kernel._native",
            [f"lsip/kernel/{part}.cpp" for part in ("kernel", "bounds", "rows", "search", "sparsity")],
            depends=glob("lsip/kernel/*.inl") + glob("lsip/kernel/*.hpp"),
            extra_compile_args=FLAGS + QUIET,
            language="c++",
            optional=True,
            py_limited_api=True,  # it knows nothing of Python: one build serves every version
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
