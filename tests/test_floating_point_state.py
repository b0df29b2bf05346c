"""The kernel gives back the floating-point state of its caller; nothing is proven where rounding is not to nearest."""

from __future__ import annotations

import ctypes
import ctypes.util
import platform
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lsip
from lsip.expressions.tape import Tape
from lsip.kernel import native
from lsip.oracles import BranchAndBound
from lsip.oracles.partition import BoxPartition
from lsip.oracles.taylor import Taylor
from lsip.rounding import check_rounding

X86 = platform.machine().lower() in ("x86_64", "amd64")
ORDINARY = 0x1F80
UPWARD, DOWNWARD, TOWARDS_ZERO, FLUSHED, ZEROED = 0x5F80, 0x3F80, 0x7F80, 0x9F80, 0x1FC0  # of MXCSR
ALL_FLAGS = 0x1FBF
STATES = {
    "upward": UPWARD,
    "downward": DOWNWARD,
    "towards zero": TOWARDS_ZERO,
    "denormal results flushed": FLUSHED,
    "denormal arguments zeroed": ZEROED,
}
SOURCE = """
#include <immintrin.h>
unsigned get(void) { return _mm_getcsr(); }
void set(unsigned state) { _mm_setcsr(state); }
"""


@pytest.fixture(scope="module")
def csr(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Functions that read and write the state of this thread."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not X86 or compiler is None:
        pytest.skip("The state is set by a few lines of C for x86.")
    folder = tmp_path_factory.mktemp("csr")
    (folder / "csr.c").write_text(SOURCE)
    made = folder / "csr.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(made), str(folder / "csr.c")], check=True)
    # The lock of the interpreter is kept: nothing else runs between two calls.
    library = ctypes.PyDLL(str(made))
    library.get.restype = ctypes.c_uint
    library.set.argtypes = [ctypes.c_uint]
    library.set.restype = None
    return library


@contextmanager
def state(csr: Any, value: int) -> Iterator[None]:
    before = csr.get()
    csr.set(value)
    try:
        yield
    finally:
        csr.set(before)


def _after(csr: Any, value: int, call: Callable[[], object]) -> int:
    """The state after a call in another one."""
    with state(csr, value):
        call()
        return int(csr.get())


class Recorded:
    """The library; it tells what is called, in which state, and which state it leaves."""

    def __init__(self, library: Any, csr: Any, wanted: int) -> None:
        self.library, self.csr, self.wanted = library, csr, wanted
        self.left: dict[str, set[int]] = {}

    def __getattr__(self, name: str) -> Any:
        function = getattr(self.library, name)

        def call(*args: Any) -> Any:
            with state(self.csr, self.wanted):
                result = function(*args)
                self.left.setdefault(name, set()).add(self.csr.get())
            return result

        return call


def _models() -> list[lsip.Problem]:
    """Small ones, one with two indices, and one with enough boxes for threads."""
    x, t = lsip.Variable(3, name="x", lower=-9, upper=9), lsip.Index("t", lsip.Interval(0, 1))
    y = lsip.Index("y", lsip.Box([0, 0], [1, 1]))
    return [
        lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.forall(t, x[0] + x[1] * t + x[2] * t**2 >= np.tan(t))]),
        lsip.Problem(
            lsip.minimize(x[0]),
            [lsip.forall(y, x[0] + x[1] * y[0] >= np.exp(y[0]) * np.sin(3 * y[1]) + abs(y[0] - 0.3))],
        ),
        lsip.Problem(lsip.minimize(x[0]), [lsip.forall(y, x[0] + x[1] * y[1] >= np.log(1 + y[0] * y[1]))]),
    ]


EXPORTED = {
    "lsip_tape_new", "lsip_tape_free", "lsip_tape_bytes", "lsip_quadratics", "lsip_points", "lsip_bound", "lsip_layout",
    "lsip_distinct", "lsip_function", "lsip_search", "lsip_kernel_version", "lsip_kernel_choose",
}  # fmt: skip


def test_the_list_of_exported_functions_is_complete() -> None:
    sources = (Path(native.__file__).parent).glob("*.cpp")
    text = " ".join(path.read_text(encoding="utf-8") for path in sources)
    defined = {
        line.partition("(")[0].split()[-1].lstrip("*") for line in text.splitlines() if line.startswith("EXPORT ")
    } | {part.partition("(")[0].split()[-1] for part in text.split("EXPORT ")[1:]}
    assert defined == EXPORTED


@pytest.mark.parametrize("engine", ["AVX2", "portable"])
@pytest.mark.parametrize("value", [*STATES.values(), ALL_FLAGS, ORDINARY], ids=[*STATES, "all flags", "ordinary"])
def test_every_exported_function_gives_the_state_back(
    csr: Any, value: int, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = native.kernel()
    if known.library is None:
        pytest.skip("There is no kernel.")
    known.library.lsip_kernel_choose(engine == "AVX2")
    try:
        recorded = Recorded(known.library, csr, value)
        monkeypatch.setattr(native, "_loaded", [native.Kernel(recorded, engine)])
        monkeypatch.setattr(native, "cores", lambda: 3)
        answers = [problem.solve(verbose=False) for problem in _models()]
        native.values("exp", np.linspace(-1, 1, 5))
        recorded.lsip_kernel_version()
        recorded.lsip_kernel_choose(engine == "AVX2")
        _many_boxes()
        family = _models()[2].compile().families[0]
        bounder = Taylor(family, family.domain.cells()[0], kept=False)
        BoxPartition(bounder).bounds(np.ones((1, bounder.width)))
        native._free()
    finally:
        known.library.lsip_kernel_choose(known.engine == "AVX2")
    assert {name: left for name, left in recorded.left.items() if left != {value}} == {}
    assert set(recorded.left) >= EXPORTED - {"lsip_tape_free"}  # which comes when the garbage is collected
    assert all(answer.certified for answer in answers)


def _many_boxes() -> None:
    """A batch that is shared among threads, and a search of the kernel's own."""
    y = lsip.Index("y", lsip.Box([0, 0], [1, 1]))
    tape = Tape((np.exp(y[0]) * np.sin(40 * y[1]),), (y,))
    lower = np.random.default_rng(0).uniform(0, 0.9, (20_000, 2))
    tape.quadratics(lower, lower + 0.1)


@pytest.mark.parametrize("value", STATES.values(), ids=STATES)
def test_enclosures_do_not_depend_on_the_state_of_the_caller(csr: Any, value: int) -> None:
    known = native.kernel()
    if known.library is None:
        pytest.skip("There is no kernel.")
    y = lsip.Index("y", lsip.Box([0, 0], [1, 1]))
    tape = Tape((np.exp(y[0]) * np.sin(40 * y[1]) / 3,), (y,)).native
    assert tape is not None
    lower = np.random.default_rng(0).uniform(0, 0.9, (5_000, 2))
    upper = lower + 0.1
    expected = tape.quadratics(lower, upper, None, 2)[0]
    with state(csr, value):
        found = tape.quadratics(lower, upper, None, 2)[0]
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_array_equal(a, b)


def _solve() -> object:
    return _models()[0].solve(verbose=False)


def _linsip() -> object:
    family = lsip.Family(lsip.Interval(0, 1), lambda y: np.ones((len(y), 1)), lambda y: y[:, 0], lipschitz=1.0)
    return lsip.linsip([-1.0], [family])


def _stepped() -> object:
    return list(lsip.exchange(_models()[0]))


def _counterpart() -> object:
    return _models()[0].solve(method=lsip.Counterpart(), verbose=False)


def _integers() -> object:
    k, t = lsip.Variable(name="k", lower=0, upper=9, integer=True), lsip.Index("t", lsip.Interval(0, 1))
    return lsip.Problem(lsip.minimize(k), [lsip.forall(t, k >= 2.5 * t)]).solve(verbose=False)


@pytest.mark.parametrize("value", STATES.values(), ids=STATES)
@pytest.mark.parametrize("call", [_solve, _linsip, _stepped, _counterpart, _integers])
def test_nothing_is_solved_in_another_state(csr: Any, value: int, call: Callable[[], object]) -> None:
    with state(csr, value), pytest.raises(lsip.RoundingError):
        call()


@pytest.mark.parametrize("value", STATES.values(), ids=STATES)
def test_nothing_is_verified_or_separated_in_another_state(csr: Any, value: int) -> None:
    problem = _models()[0]
    solution = problem.solve(verbose=False)
    violation = problem.compile().violation(0, solution.x)
    with state(csr, value):
        with pytest.raises(lsip.RoundingError):
            solution.verify()
        with pytest.raises(lsip.RoundingError):
            BranchAndBound().maximise(violation)
    solution.verify()


def test_rounding_upward_is_refused_by_the_functions_of_c() -> None:
    name = ctypes.util.find_library("m")
    if name is None:
        pytest.skip("There is no library of C's mathematics.")
    library = ctypes.PyDLL(name)
    upward = {"x86_64": 0x800, "aarch64": 0x400000}.get(platform.machine())
    if upward is None:
        pytest.skip("The number of FE_UPWARD is not known here.")
    before = library.fegetround()
    assert library.fesetround(upward) == 0
    try:
        with pytest.raises(lsip.RoundingError, match="nearest"):
            _solve()
    finally:
        library.fesetround(before)
    check_rounding()


def test_the_state_of_other_threads_does_not_matter(csr: Any) -> None:
    begun, done = threading.Event(), threading.Event()

    def other() -> None:
        with state(csr, UPWARD):
            begun.set()
            done.wait()

    thread = threading.Thread(target=other)
    thread.start()
    begun.wait()
    try:
        assert _models()[0].solve(verbose=False).certified
    finally:
        done.set()
        thread.join()
