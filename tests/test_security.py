"""The sentences of SECURITY.md, held against the code."""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import lsip
import rl
from lsip.cli import main

ROOT = Path(__file__).resolve().parent.parent
FILES = {p.relative_to(ROOT).as_posix(): p for room in ("lsip", "rl", "envs") for p in (ROOT / room).rglob("*.py")}
RUNS = {"eval", "exec", "pickle.load", "pickle.loads", "Unpickler", "runpy.run_path", "os.system", "torch.load"}
NETWORK = {"socket", "ssl", "http", "urllib", "ftplib", "requests", "smtplib", "xmlrpc", "webbrowser"}
MODELS = {"lsip/cli/model_file.py"}  # the one place that runs a file, because it is a program


class Trap:
    """What runs code as soon as it is unpickled."""

    def __reduce__(self):
        return (spring, ())


sprung: list[int] = []


def spring() -> None:
    sprung.append(1)


def calls(source: str) -> set[str]:
    return {ast.unparse(node.func) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)}


def modules(source: str) -> set[str]:
    """The top-level modules that a file imports, wherever it does."""
    found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [
        [a.name for a in n.names] if isinstance(n, ast.Import) else [n.module or ""]
        for n in found
        if not getattr(n, "level", 0)
    ]
    return {name.partition(".")[0] for each in names for name in each}


def test_nothing_in_the_packages_runs_text_or_unpickles():
    wrong = {path: calls(file.read_text(encoding="utf-8")) & RUNS for path, file in FILES.items() if path not in MODELS}
    assert len(FILES) > 100
    assert not {path: found for path, found in wrong.items() if found}
    assert calls("def f(text):\n    return eval(text)") & RUNS


def test_nothing_in_the_packages_speaks_to_a_network():
    wrong = {path: modules(file.read_text(encoding="utf-8")) & NETWORK for path, file in FILES.items()}
    assert not {path: found for path, found in wrong.items() if found}
    assert modules("def f():\n    from urllib.request import urlopen") & NETWORK


def problem() -> lsip.Problem:
    x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    return lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.forall(t, x[0] + x[1] * t >= np.exp(t))])


def laid(path: Path) -> Path:
    """The same file with a trap in the place of an array."""
    with np.load(path, allow_pickle=False) as data:
        arrays = {name: data[name] for name in data.files}
    trap = np.empty(1, dtype=object)
    trap[0] = Trap()
    first = next(name for name in arrays if arrays[name].dtype.kind == "f")
    np.savez(path, **{**arrays, first: trap})
    with np.load(path, allow_pickle=True) as data:
        assert data[first].shape == (1,)
    assert sprung.pop() == 1, "the trap works"
    return path


def test_a_solution_with_objects_in_it_is_refused_unread(tmp_path):
    asked = problem()
    asked.solve(verbose=False).save(tmp_path / "s.npz")
    with pytest.raises(lsip.LSIPError, match="pickled objects, which may be code"):
        lsip.Solution.load(laid(tmp_path / "s.npz"), asked)
    assert sprung == []


def test_a_plan_with_objects_in_it_is_refused_unread(tmp_path):
    envs = pytest.importorskip("envs")
    mdp = envs.sewage(states=3, actions=2, seed=0)
    rl.plan(mdp).save(tmp_path / "p.npz")
    with pytest.raises(lsip.LSIPError, match="pickled objects, which may be code"):
        rl.Plan.load(laid(tmp_path / "p.npz"), mdp)
    assert sprung == []


def test_a_forged_solution_is_not_believed(tmp_path):
    asked = problem()
    asked.solve(verbose=False).save(tmp_path / "s.npz")
    with np.load(tmp_path / "s.npz", allow_pickle=False) as data:
        arrays = {name: data[name].copy() for name in data.files}
    arrays["x"] = arrays["x"] - 0.5  # no longer above exp
    np.savez(tmp_path / "s.npz", **arrays)
    with pytest.raises(lsip.LSIPError):
        lsip.Solution.load(tmp_path / "s.npz", asked)
    trusted = lsip.Solution.load(tmp_path / "s.npz", asked, verify=False)
    assert not trusted.certified


def test_a_run_cannot_make_gymnasium_import_a_module(tmp_path, monkeypatch):
    pytest.importorskip("gymnasium")
    pytest.importorskip("torch")
    from rl.named_env import make

    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "unwanted.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")
    with pytest.raises(lsip.ModelError, match="which Gymnasium cannot make here"):
        make("run.npz", {"name": "unwanted:CartPole-v1", "copies": 1, "mode": None, "changed": []}, 10)
    assert "unwanted" not in sys.modules


def test_a_problem_file_is_plain_data(tmp_path):
    problem().save(tmp_path / "p.json")
    data = json.loads((tmp_path / "p.json").read_text(encoding="utf-8"))
    assert isinstance(data, dict)
    text = (tmp_path / "p.json").read_text(encoding="utf-8").replace('"exp"', '"system"')
    assert "system" in text
    (tmp_path / "p.json").write_text(text, encoding="utf-8")
    with pytest.raises(lsip.LSIPError):
        lsip.load(tmp_path / "p.json")


def test_a_report_loads_nothing(tmp_path):
    page = problem().solve(verbose=False).report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Content-Security-Policy" in page
    assert "default-src 'none'" in page


def test_a_forged_proof_is_not_believed(tmp_path, capfd):
    path = tmp_path / "proof.json"
    problem().solve(verbose=False).export(path)
    assert main(["check", str(path)]) == 0
    assert capfd.readouterr().out.startswith("proven: ")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"exp"', '"sin"'), encoding="utf-8")
    assert text != path.read_text(encoding="utf-8"), "the forgery is one"
    assert main(["check", str(path)]) != 0
    assert "proven: " not in capfd.readouterr().out


def test_an_array_that_claims_to_be_huge_is_refused_before_it_is_made(tmp_path):
    path = tmp_path / "s.npz"
    problem().solve(verbose=False).save(path)
    with np.load(path, allow_pickle=False) as data:
        arrays = {name: data[name] for name in data.files}
    with zipfile.ZipFile(path, "w") as written:
        for name, array in arrays.items():
            stream = io.BytesIO()
            if name == "x":
                told = {"descr": "<f8", "fortran_order": False, "shape": (2**40,)}
                np.lib.format.write_array_header_1_0(stream, told)
                stream.write(array.tobytes())
            else:
                np.lib.format.write_array(stream, array, allow_pickle=False)
            written.writestr(f"{name}.npy", stream.getvalue())
    tracemalloc.start()
    with pytest.raises(lsip.LSIPError):
        lsip.Solution.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**26


def test_the_sentences_have_their_tests():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(tests/\w+\.py)`", text))
    assert len(named) >= 6
    assert all((ROOT / name).is_file() for name in named)
