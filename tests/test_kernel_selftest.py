"""The kernel's self-test in C++, which runs where no Python does: it passes here, and it can fail."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from .kernel_vectors import Case, cases, packed

ROOT = Path(__file__).resolve().parent.parent
FLAGS = ("-O1", "-std=c++17", "-frounding-math", "-ffp-contract=off", "-fno-math-errno", "-Wno-psabi", "-pthread")
COMPILERS = [name for name in ("g++", "clang++") if shutil.which(name)]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not COMPILERS, reason="there is no C++ compiler"),
    pytest.mark.skipif(sys.platform == "win32", reason="`.ci/targets.py` does the same there"),
]


def compiled(folder: Path, compiler: str, *flags: str) -> subprocess.CompletedProcess[str]:
    sources = [ROOT / "tests/kernel_selftest.cpp", *(ROOT / "lsip/kernel").glob("*.cpp")]
    command = [
        compiler,
        *FLAGS,
        *flags,
        f"-I{ROOT / 'lsip/kernel'}",
        *map(str, sources),
        "-o",
        str(folder / "selftest"),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def run(folder: Path, given: Iterator[Case]) -> subprocess.CompletedProcess[str]:
    (folder / "vectors.bin").write_bytes(packed(given))
    command = [str(folder / "selftest"), str(folder / "vectors.bin")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def moved(case: Case) -> Case:
    """The same, with one number that the kernel has to miss."""
    kind, *arrays = case
    places = {
        "function": 3, "points": 7, "quadratics": 9, "bound": 2, "layout": 7, "distinct": 4, "search": 6,
    }  # fmt: skip
    if kind == "refused":  # a sound tape in the place of one that is not
        return kind, *next(c for c in cases() if c[0] == "points")[1:6]
    wrong = np.array(arrays[places[kind]], dtype=np.float64 if kind != "distinct" else np.int64)
    first = np.flatnonzero(np.isfinite(wrong))[0]
    wrong.flat[first] += {"function": -1.0, "distinct": 1}.get(kind, 1e9)
    if kind == "search":
        wrong.flat[:] = [arrays[6][0], arrays[6][1], arrays[6][0] + 1.0]
    arrays[places[kind]] = wrong
    return kind, *arrays


@pytest.mark.parametrize("compiler", COMPILERS)
def test_it_passes_and_each_kind_of_case_can_fail(compiler: str, tmp_path: Path) -> None:
    done = compiled(tmp_path, compiler)
    assert done.returncode == 0, done.stderr
    known = list(cases())
    right = run(tmp_path, iter(known))
    assert right.returncode == 0, right.stdout
    assert " 0 failed" in right.stdout
    for kind in dict.fromkeys(case[0] for case in known):
        first = next(i for i, case in enumerate(known) if case[0] == kind)
        wrong = run(tmp_path, iter([*known[:first], moved(known[first]), *known[first + 1 :]]))
        assert wrong.returncode == 1, (kind, wrong.stdout)
        assert f"({kind})" in wrong.stdout
    few = run(tmp_path, iter(known[:3]))
    assert few.returncode == 1
    assert "missing" in few.stdout


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_compiler_that_is_told_to_be_careless_is_refused(compiler: str, tmp_path: Path) -> None:
    done = compiled(tmp_path, compiler, "-ffast-math")
    assert done.returncode != 0
    assert "without -ffast-math" in done.stderr
