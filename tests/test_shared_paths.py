"""Threads may save to one path: every save succeeds, the file is a whole one, and no part is left."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import lsip
from lsip.files import read_json, whole_file, write_json
from lsip.validation import is_mapping

THREADS, SAVES = 8, 20


def _together(save: Callable[[int], object]) -> list[BaseException]:
    """Call a function in threads, and what went wrong."""
    failed: list[BaseException] = []
    gate = threading.Barrier(THREADS)

    def work(k: int) -> None:
        gate.wait()
        for i in range(SAVES):
            try:
                save(k * SAVES + i)
            except BaseException as error:
                failed.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failed


def test_threads_write_to_one_path(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    assert _together(lambda k: write_json(path, "data.json", {"number": k, "rest": [k] * 2000})) == []
    assert [file.name for file in tmp_path.iterdir()] == ["data.json"]
    found = read_json(path, "data")
    assert is_mapping(found)
    assert set(found["rest"]) == {found["number"]}


def test_threads_save_problems_and_solutions_to_one_path(tmp_path: Path) -> None:
    t, x = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(2, name="x", lower=-9, upper=9)
    problem = lsip.Problem(lsip.minimize(x[0]), [lsip.forall(t, x[0] + x[1] * t >= np.exp(t))])
    solution = problem.solve(verbose=False)

    def save(_: int) -> None:
        problem.save(tmp_path / "problem.json")
        solution.save(tmp_path / "solution.npz")

    assert _together(save) == []
    assert sorted(file.name for file in tmp_path.iterdir()) == ["problem.json", "solution.npz"]
    assert lsip.load(tmp_path / "problem.json").solve(verbose=False).certified
    assert lsip.Solution.load(tmp_path / "solution.npz", problem).value == solution.value


def _half_written(path: Path, names: set[str]) -> None:
    with whole_file(path, "data.json") as part:
        assert part.is_file()
        assert part.read_bytes() == b""
        names.add(part.name)
        part.write_text("half")
        raise ZeroDivisionError


def test_parts_are_new_files_and_go_when_writing_fails(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text("old")
    names: set[str] = set()
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            _half_written(path, names)
    assert len(names) == 3
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["data.json"]


def test_a_part_is_never_a_file_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lsip.files.token_hex", lambda n: "known")
    secret = tmp_path / "secret"
    secret.write_text("mine")
    (tmp_path / "data.json.known.part").symlink_to(secret)
    with pytest.raises(lsip.ModelError, match="cannot be written"):
        write_json(tmp_path / "data.json", "data.json", {})
    assert secret.read_text() == "mine"
    assert (tmp_path / "data.json.known.part").is_symlink()


@pytest.mark.skipif(os.name != "posix", reason="names have other limits elsewhere")
def test_names_may_be_as_long_as_the_system_allows(tmp_path: Path) -> None:
    path = tmp_path / ("a" * 250 + ".json")
    write_json(path, "data.json", [1])
    assert path.read_text() == "[1]"
