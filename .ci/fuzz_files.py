"""Fuzz what reads files, guided by coverage: python .ci/fuzz_files.py [options of libFuzzer].

It needs atheris. The first byte says which reader is called, the rest is the file: a problem, a proof, a solution, a
plan. Whatever is in it, reading ends well or with an `LSIPError`; anything else stops the run with the input that did
it. Without `-max_total_time=SECONDS` it runs until it is interrupted. `python -m benchmarks files` needs no atheris.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import atheris

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # rl and envs of the checkout

with atheris.instrument_imports(include=["lsip", "rl.plan_file"]):
    import envs
    import lsip
    import rl
    from lsip.cli import main as command
    from lsip.proof import checker as _checker  # noqa: F401  what is imported when it is needed is imported now
    from lsip.solution import load as _load  # noqa: F401

HERE = ROOT / "tests/files_of_02"
MDP = envs.sewage(states=3, actions=2, seed=0)


def check(path: Path) -> None:
    """The other checker; each of its exit codes is an answer, and a raw error is none."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        command(["check", str(path)])


READERS: tuple[tuple[str, Callable[[Path], object], str], ...] = (
    (".json", lsip.load, "problem*.json"),
    (".json", check, "proof*.json"),
    (".npz", lambda path: lsip.Solution.load(path, verify=False), "solution*.npz"),
    (".npz", lambda path: rl.Plan.load(path, MDP), "plan.npz"),
)
FOLDER = Path(tempfile.mkdtemp(prefix="lsip-fuzz-"))


def read(data: bytes) -> None:
    """One file."""
    if not data:
        return
    ending, reader, _ = READERS[data[0] % len(READERS)]
    path = FOLDER / f"file{ending}"
    path.write_bytes(data[1:])
    try:
        reader(path)
    except lsip.LSIPError:
        return


def seeds(folder: Path) -> None:
    """Whole files, and some that are cut off."""
    rng = random.Random(0)
    for k, (_, _, names) in enumerate(READERS):
        for path in sorted(HERE.glob(names)):
            whole = path.read_bytes()
            for i, part in enumerate((whole, whole[: rng.randrange(len(whole))])):
                (folder / f"{path.name}{i}").write_bytes(bytes([k]) + part)


if __name__ == "__main__":
    corpus = FOLDER / "corpus"
    corpus.mkdir()
    seeds(corpus)
    atheris.Setup([sys.argv[0], *sys.argv[1:], str(corpus)], read)
    atheris.Fuzz()
