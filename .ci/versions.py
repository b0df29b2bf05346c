"""The tests in short on other versions: the oldest that pyproject.toml asks for, and the newest on the newest Python.

    python .ci/versions.py            both
    python .ci/versions.py every      the newest on every other Python that is here
    python .ci/versions.py oldest     or newest; with --here, on the Python that runs this
    python .ci/versions.py list       only say which tests these are, for `make check`

Each has an environment of its own, .venv-oldest or .venv-3.12, with lsip's own dependencies and a few light extras; the
compiled kernel is that of the checkout. What cannot be installed here is skipped, in one line.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST_PYTHON, NEWEST_PYTHON = 11, 20  # 3.11 and what may come
EXTRAS = ("check", "pandas")
SHORT = (  # functions, solves with proofs, LP solvers, files, planning: each part once, in about a minute
    "tests/test_functions.py",
    "tests/test_linsip.py",
    "tests/test_masters.py",
    "tests/test_problem_files.py",
    "tests/test_sicmdp.py",
)


def dependencies() -> list[str]:
    """What lsip asks for, such as numpy>=2.0, and what its light extras do."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *(line for name in EXTRAS for line in project["optional-dependencies"][name])]


def oldest(asked: list[str]) -> list[str]:
    """The first of all versions that will do."""
    return [line.replace(">=", "==") for line in asked]


def pythons() -> Iterator[tuple[str, str]]:
    """Every Python from 3.11 that is here: its version, and how it is called."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    for minor in range(OLDEST_PYTHON, NEWEST_PYTHON):
        name = f"python3.{minor}"
        for path in (shutil.which(name), *sorted(kept.glob(f"*/bin/{name}"))):
            if path and _said([str(path), "--version"]).startswith(f"Python 3.{minor}."):
                yield f"3.{minor}", str(path)
                break


def _said(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def environment(label: str, python: str, packages: list[str]) -> Path | None:
    """The Python of an environment with these packages, made once; None where they cannot be had."""
    folder = ROOT / f".venv-{label}"
    interpreter = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    stamp, wanted = folder / ".installed", "\n".join(packages)
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return interpreter
    shutil.rmtree(folder, ignore_errors=True)
    pip = [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]
    for command in ([python, "-m", "venv", str(folder)], [*pip, *packages]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if "ResolutionImpossible" in done.stderr:
            sys.exit(f"{label}: what pyproject.toml asks for contradicts itself: {', '.join(packages)}.\n{done.stderr}")
        if done.returncode != 0:
            return None
    stamp.write_text(wanted, encoding="utf-8")
    return interpreter


def tested(label: str, python: str, packages: list[str]) -> bool:
    """Whether the tests in short pass with these packages, or cannot be run here."""
    start = time.monotonic()
    interpreter = environment(label, python, [*packages, "pytest", "pytest-xdist", "hypothesis"])
    if interpreter is None:
        print(f"{label}: skipped, because {', '.join(packages)} cannot be installed here.", flush=True)
        return True
    command = [
        str(interpreter),
        "-m",
        "pytest",
        "-q",
        "-n",
        "2",
        "-m",
        "not slow",
        "-rfE",
        "-p",
        "no:cacheprovider",
        *SHORT,
    ]
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    passed = subprocess.run(command, cwd=ROOT, env={**os.environ, **threads}, check=False).returncode == 0
    installed = re.findall(
        r"^(?:numpy|scipy|highspy|clarabel)==.*$", _said([str(interpreter), "-m", "pip", "freeze"]), re.MULTILINE
    )
    said = "passed" if passed else "failed"
    print(f"{label}: {said} with {', '.join(installed)}, {time.monotonic() - start:.0f} s.", flush=True)
    return passed


def main(words: list[str]) -> int:
    """Run what is asked for; the exit code is 1 if a test fails."""
    if "list" in words:
        print(*SHORT)
        return 0
    own = f"3.{sys.version_info.minor}"
    found, packages = {own: sys.executable} if "--here" in words else dict(pythons()), dependencies()
    done = []
    if "newest" not in words:
        first = next(iter(found), own)
        done.append(tested("oldest", found.get(first, sys.executable), oldest(packages)))
    if "oldest" not in words:  # `make test` has tested the Python that runs this
        others = {version: path for version, path in found.items() if version != own or "--here" in words}
        chosen = list(others.items()) if "every" in words else list(others.items())[-1:]
        done += [tested(version, path, packages) for version, path in chosen]
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
