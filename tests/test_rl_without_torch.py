"""Without torch: names that need it say which extra to install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import rl

ROOT = Path(__file__).resolve().parent.parent
NEED_TORCH = [
    "SICPO",
    "EPO",
    "NPG",
    "PPO",
    "PolicyGradient",
    "TRPO",
    "SoftmaxTable",
    "MLPCategorical",
    "MLPGaussian",
]


@pytest.mark.parametrize("names", [NEED_TORCH, ["baselines.CRPO"]])
def test_without_torch_the_extra_is_named(names):
    code = f"""
import sys
sys.modules["torch"] = None
import operator, lsip, rl
rl.plan, rl.MonteCarlo, rl.TemporalDifference, rl.Exact, rl.Simulator
for name in {names}:
    try:
        operator.attrgetter(name)(rl)
    except lsip.MissingExtraError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"rl.{name} needs torch: pip install 'lsip[rl]'." for name in names]


def test_names_that_do_not_exist_are_ordinary_errors():
    for place in (rl, rl.baselines):
        with pytest.raises(AttributeError, match="SICPOO"):
            place.SICPOO  # noqa: B018
