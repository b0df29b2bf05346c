"""Short forms of the benchmarks of reliability: calls, files, lying masters, interrupts, full disks."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import lsip
from lsip import validation
from lsip.masters import MasterError, open_master
from lsip.masters.clarabel import ClarabelProgram
from lsip.masters.highs import HighsProgram
from lsip.proof.certificate import TreeAssumption
from lsip.validation import Count, Natural, Seed, checked

pytest.importorskip("torch")
pytest.importorskip("gymnasium")
pytest.importorskip("matplotlib")

import envs
import rl
from benchmarks import files, fuzz, interrupts
from benchmarks.harness import mutated, worst_cases
from benchmarks.harness.fuzz import calls, specimens
from benchmarks.harness.lies import LIES, PROGRAM_LIES, Liar, LyingMaster, lying
from rl import plotting

# ---- calls -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", range(8))
@pytest.mark.filterwarnings("ignore")
def test_malformed_calls_are_survived_or_explained(part: int) -> None:
    found = [dict(entry) for seed in range(40 * part, 40 * part + 40) for entry in [_tried(seed)]]
    assert [each for each in found if each["outcome"] not in ("survived", "explained")] == []


def _tried(seed: int) -> dict[str, Any]:
    parts: dict[str, Any] = {"seed": seed}
    for more in fuzz.measure(seed, None):
        parts |= more
    return parts


def test_calls_are_made_in_a_folder_that_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []

    def write() -> None:
        made.append(Path("abc").resolve())
        Path("abc").touch()

    call = fuzz.Try("write", "path=text", write, lambda result: False)
    monkeypatch.setattr(fuzz, "drawn", lambda seed, only: call)
    monkeypatch.chdir(tmp_path)
    assert _tried(0)["outcome"] == "survived"
    assert Path.cwd() == tmp_path
    assert list(tmp_path.iterdir()) == []
    assert not made[0].exists()


@pytest.mark.parametrize("seed", [np.matrix([[1, 2]]), 1.0, "abc", -1, True, [1, -2], np.timedelta64(3, "s")], ids=repr)
def test_seeds_are_integers_or_generators(seed: Any) -> None:
    """An np.matrix ended the process, inside of NumPy."""
    with pytest.raises(lsip.ModelError, match="`seed` must be an integer, at least 0, None or a NumPy generator"):
        lsip.Interval(0, 1).sample(3, seed)


@pytest.mark.parametrize(
    "seed", [0, [1, 2], np.arange(3), np.random.default_rng(0), None], ids=lambda s: type(s).__name__
)
def test_seeds_of_every_kind_are_taken(seed: Any) -> None:
    assert lsip.Interval(0, 1).sample(3, seed).shape == (3, 1)


def test_methods_of_every_index_set_check_their_arguments() -> None:
    for make in specimens.DOMAINS.values():
        domain = make()
        for method, wrong in (("sample", -1), ("spread", 0), ("grid", 2.5), ("grid", "3")):
            with pytest.raises(lsip.ModelError, match="must be a whole number"):
                getattr(domain, method)(wrong)
        with pytest.raises(lsip.ModelError, match="`tol` is a number >= 0"):
            domain.contains(domain.sample(1), tol="small")


@checked(n=Natural, way=Literal["up", "down"] | None, seed=Seed, more=Count)
def walked(n: int, way: str | None = None, *, seed: Any = 0, more: int = 0) -> tuple[Any, ...]:
    return n, way, seed, more


def test_kinds_are_checked_by_place_and_by_name() -> None:
    assert walked(2, "up", more=1) == (2, "up", 0, 1)
    assert walked(n=2, way=None) == (2, None, 0, 0)
    for wrong in (partial(walked, 0), partial(walked, n=0), partial(walked, 1, more=-1), partial(walked, 1, "left")):
        with pytest.raises(lsip.ModelError):
            wrong()
    with pytest.raises(lsip.ModelError, match='`way` is "up" or "down"; got'):
        walked(1, np.array(["up", "down"]))


def test_arrays_that_no_memory_holds_are_refused() -> None:
    with pytest.raises(lsip.ModelError, match="must fit into memory"):
        validation.numbers(np.broadcast_to(1.0, (10**6, 10**6)), "They")


def of_nothing() -> None: ...


def failing(violation: Any) -> Any:
    return violation.missing


def test_functions_of_users_are_refused_where_they_cannot_be_called() -> None:
    wrong: list[Any] = [of_nothing, int, lsip.Box]
    for each in wrong:
        with pytest.raises(lsip.ModelError, match=r"`colouring` is called with one argument; .* refuses: "):
            plotting.heat(np.ones(2), each)
    with pytest.raises(AttributeError, match="missing"):  # their own errors are theirs
        plotting.heat(np.ones(2), failing)
    with pytest.raises(lsip.ModelError, match="`where` is called with one argument"):
        lsip.Interval(0, 1).where(wrong[0])


@dataclass(frozen=True)
class Paces(validation.Configuration):
    """A configuration of numbers."""

    share: validation.Share
    counts: tuple[Natural, ...]


def test_numbers_of_other_libraries_become_those_of_python() -> None:
    paces = Paces(Fraction(1, 2), (np.int8(3), np.uint64(4)))
    assert [type(v) for v in (paces.share, *paces.counts)] == [float, int, int]
    assert paces == Paces(0.5, (3, 4))
    assert type(walked(np.uint64(2))[0]) is int
    assert type(walked(1, more=np.int8(2))[3]) is int
    assert envs.sewage(states=3, actions=2, gamma=np.longdouble("0.9")).gamma == 0.9
    assert lsip.scenario_count(3, risk=Fraction(1, 10), confidence=np.longdouble("0.9")) > 0


def test_lists_are_gone_through_one_by_one() -> None:
    endless: Any = range(10**15)
    loop: list[Any] = []
    loop.append(loop)
    x = lsip.Variable(2)
    for wrong, match in (
        (endless, "A constraint was expected"),
        (loop, "lists in lists without end"),
        (np.array(1.0), "`constraints` must be a list of constraints; got ndarray"),
        ("abc", "`constraints` must be a list of constraints; got str"),
    ):
        with pytest.raises(lsip.ModelError, match=match):
            lsip.Problem(lsip.minimize(x[0]), wrong)
    with pytest.raises(lsip.ModelError, match=r"families\[0\] must be an lsip.Family"):
        lsip.linsip([1.0], endless)
    with pytest.raises(lsip.ModelError, match=r"`families` must be a list of lsip\.Family; got ndarray"):
        lsip.linsip([1.0], np.array(1.0))  # type: ignore[arg-type]
    with pytest.raises(lsip.ModelError, match="`names` must be 1 different strings"):
        lsip.Program.from_arrays([1.0], names=endless)
    with pytest.raises(lsip.ModelError, match="`bounds` cannot be read"):
        lsip.linsip([1.0], [], bounds=loop)


def test_lists_within_lists_end_at_the_door_of_cvxpy() -> None:
    pytest.importorskip("cvxpy")
    from lsip.interop.cvxpy import Index, Rule, forall

    loop: list[Any] = [1.0]
    for _ in range(3000):
        loop = [loop]
    t = Index("t", lsip.Interval(0, 1))
    for call in (lambda: forall(t, loop), lambda: forall(loop, t >= 0), lambda: Rule(of=loop), lambda: t * loop):
        with pytest.raises(lsip.LSIPError):
            call()


def test_an_absolute_gap_that_is_checked_is_finite() -> None:
    x, t = lsip.Variable(name="x"), lsip.Index("t", lsip.Interval(0, 1))
    solution = lsip.Problem(lsip.minimize(x), [lsip.forall(t, x >= t)]).solve(verbose=False)
    with pytest.raises(lsip.LSIPError, match="finite number >= 0"):
        solution.verify(atol=np.inf)


@pytest.mark.parametrize("make", [lsip.Simplex, partial(lsip.Budget, budget=1)], ids=["simplex", "budget"])
def test_points_of_index_sets_fit_into_memory(make: Callable[[Any], Any]) -> None:
    for wrong in (np.uint64(2**64 - 1), 2**40, 10**400):
        with pytest.raises(lsip.ModelError, match="must fit into memory"):
            make(wrong)
    with pytest.raises(lsip.ModelError, match="at most 32 axes"):
        lsip.Variable(2) / np.ones((1,) * 33)


@pytest.mark.parametrize("oracle", calls.ORACLES, ids=lambda kind: kind.__name__)
def test_oracles_look_at_what_they_are_given(oracle: Any) -> None:
    for wrong in ({}, "abc", lsip.Box, None):
        with pytest.raises(lsip.ModelError, match=r"`violation` is one such as problem.compile\(\).violation"):
            oracle().maximise(wrong)
    with pytest.raises(lsip.ModelError, match="`target` is a number; got nan"):
        oracle().maximise(specimens.violation(), target=float("nan"))


# ---- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", files.KINDS)
@pytest.mark.filterwarnings("ignore")
def test_mutated_files_are_refused_or_read(kind: str) -> None:
    for seed in range(12):
        parts: dict[str, Any] = {}
        for more in files.measure(kind, seed):
            parts |= more
        assert parts["outcome"] in ("refused", "equal", "other"), (seed, parts)


def test_arrays_that_nobody_asked_for_are_not_read(tmp_path: Path) -> None:
    whole = mutated._parts(specimens.saved().read_bytes())
    np.savez(tmp_path / "s.npz", **whole, unknown=np.array([{}], dtype=object))
    found = lsip.load(tmp_path / "s.npz")
    assert isinstance(found, lsip.Solution)
    assert found.certified


READERS: dict[str, Callable[[str], Any]] = {
    "load": lsip.load,
    "problem": lsip.Problem.load,
    "solution": lsip.Solution.load,
    "plan": partial(rl.Plan.load, mdp=specimens.mdp()),
    "learner": partial(rl.SICPO.load, problem=specimens.mdp()),
    "table": partial(rl.Dataset.from_csv, states=3, actions=2),
    "log": lambda name: specimens.learner().learn(1, log=name),
    "picture": lambda name: specimens.solution().plot(name),
}


@pytest.mark.parametrize("reader", READERS)
def test_names_that_no_file_can_have_are_refused(reader: str) -> None:
    for wrong in ("a\0b", "x" * 100_000, "\udc80\0"):
        with pytest.raises(lsip.ModelError, match="cannot be the name of a file"):
            READERS[reader](wrong)


WRITERS: dict[str, Callable[[Path], Any]] = {
    "solution.npz": lambda path: specimens.solution().save(path),
    "problem.json": lambda path: specimens.problem().save(path),
    "proof.json": lambda path: specimens.solution().export(path),
    "report.html": lambda path: specimens.solution().report(path),
    "relaxation.mps": lambda path: specimens.solution().write(path),
    "violation.png": lambda path: specimens.solution().plot(path),
    "plan.npz": lambda path: specimens.plan().save(path),
    "agent.npz": lambda path: specimens.learned().save(path),
    "curves.png": lambda path: calls.plotting.bands({"a": (np.arange(3), np.eye(3))}, path=path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_disk_that_is_full_keeps_the_old_file(name: str, tmp_path: Path) -> None:
    """A limit on the size of files is what a full disk is to a writer."""
    path = tmp_path / name
    path.write_text("old")
    WRITERS[name](tmp_path / f"warm{path.suffix}")  # fonts and the like have their own files
    (tmp_path / f"warm{path.suffix}").unlink()
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, limits[1]))
    try:
        with pytest.raises(lsip.ModelError, match="cannot be written"):
            WRITERS[name](path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_that_is_read_only_is_told_before_the_work(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(lsip.ModelError, match="is read-only"):
        WRITERS[name](tmp_path / name)


# ---- masters ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LIES)
def test_bounds_are_valid_whatever_a_master_says(kind: str) -> None:
    entry = lsip.catalogue.get("tfi2_tan_n3")
    for seed, share in enumerate((0.3, 1.0)):
        liar = LyingMaster(seed, share, (kind,))
        solution = entry.build().solve(master=liar, verbose=False, time_limit=2)
        assert not np.isnan([solution.lower, solution.upper]).any()
        assert solution.lower - 1e-9 <= entry.value <= solution.upper + 1e-9
        if solution.status is lsip.Status.STALLED and "master" in solution.message:
            assert "LyingMaster" in solution.message
        if solution.certified:
            solution.verify()


SOLVERS = [("integer", HighsProgram), ("cone", ClarabelProgram)]


@pytest.mark.parametrize(
    ("model", "solver", "kind"), [(model, solver, kind) for model, solver in SOLVERS for kind in PROGRAM_LIES]
)
def test_bounds_are_valid_whatever_other_solvers_say(model: str, solver: type, kind: str) -> None:
    known = worst_cases.draw(model, 3)
    liar = Liar(0, 1.0, (kind,))
    with lying(liar, solver):
        solution = known.problem.solve(method=known.method, verbose=False, time_limit=2)
    assert liar.told
    assert not np.isnan([solution.lower, solution.upper]).any()
    if not any(isinstance(each, TreeAssumption) for each in solution.certificate.trusts):
        assert solution.lower - 1e-9 <= known.upper
        assert solution.upper + 1e-9 >= known.lower
    if solution.status is lsip.Status.STALLED and "master" in solution.message:
        assert "highs" in solution.message or "Clarabel" in solution.message
    if solution.certified:
        solution.verify()


def test_masters_of_ours_are_observed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: HighsProgram, **options: Any) -> None:
        raise RuntimeError("no luck")

    monkeypatch.setattr(HighsProgram, "solve", fail)
    solution = lsip.catalogue.get("tfi2_tan_n3").build().solve(verbose=False)
    assert not solution.certified
    assert "The master highs failed: RuntimeError: no luck." in solution.message
    from scipy import sparse

    empty = sparse.csr_matrix((0, 1))
    opened = open_master("highs")(np.ones(1), np.zeros(1), np.ones(1), empty, np.zeros(0), np.zeros(0), 1e-8)
    with pytest.raises(MasterError, match="The master highs failed"):
        opened.solve(0.0)


# ---- interrupts ------------------------------------------------------------------------------------------------------


ATTEMPTS = """
from benchmarks import interrupts
from benchmarks.harness.fuzz import specimens

specimens.mdp(), specimens.solution()
for seed in {seeds}:
    print(interrupts.attempt({phase!r}, seed)["outcome"])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
@pytest.mark.parametrize("phase", interrupts.PHASES)
def test_interrupts_leave_nothing_half_done(phase: str) -> None:
    """In a process of its own: a child that is forked beside the threads of other tests may wait for them for ever."""
    seeds = random.Random(phase).sample(range(1000), 2)
    code = ATTEMPTS.format(phase=phase, seeds=seeds)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1]
    )
    assert len(done.stdout.split()) == 2
    assert set(done.stdout.split()) <= {"ended", "answered"}, done.stdout
