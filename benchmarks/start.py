"""How long people wait before anything happens: importing lsip, using its first name, and `lsip demo`.

Each is a process of its own, in turns with one that imports NumPy and one that does nothing; what the latter takes is
taken off. Bytecode is kept from turn to turn, as that of installed packages is. `ratio` is that to NumPy's import: of
`import lsip` it is to be at most 2. `--tries` is the number of turns.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from .harness.figures import machine, table
from .harness.registry import Figures, Options, benchmark, say

TURNS, FEW = 9, 3
NOTHING, NUMPY = "nothing", "import numpy"
CODES = {
    NOTHING: "pass",
    NUMPY: "import numpy",
    "import lsip": "import lsip",
    "its first name": "import lsip; lsip.Variable",
    "lsip demo": "from lsip.cli import main; main(['demo'])",
}


def show(figures: Figures) -> str:
    """Times and ratios."""
    return table(figures["starts"], {"name": "", "seconds": "seconds", "ratio": "over NumPy"})


@benchmark("start", "how long importing lsip and its demonstration take, beside importing NumPy", show)
def run(options: Options) -> Figures:
    turns = options.tries or (FEW if options.quick else TURNS)
    best = dict.fromkeys(CODES, float("inf"))
    with tempfile.TemporaryDirectory() as folder:
        kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | {"PYTHONPYCACHEPREFIX": folder}
        for turn in range(turns):
            for name, code in CODES.items():
                began = time.perf_counter()
                subprocess.run(
                    [sys.executable, "-c", code], check=True, cwd=folder, env=kept, stdout=subprocess.DEVNULL
                )
                best[name] = min(best[name], time.perf_counter() - began)
            say(f"[{turn + 1}/{turns}]")
    own = {name: seconds - best[NOTHING] for name, seconds in best.items() if name != NOTHING}
    starts = [{"name": name, "seconds": seconds, "ratio": seconds / own[NUMPY]} for name, seconds in own.items()]
    return {"machine": machine(), "turns": turns, "starts": starts}
