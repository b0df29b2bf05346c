"""The figures and tables of the paper, each computed by a function; `lsip reproduce` runs them."""

from . import environments, sewage_si_cpo, sewage_si_crl, ship_si_cppo
from .registry import Experiment, Outcome, Progress

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        *environments.EXPERIMENTS,
        *sewage_si_crl.EXPERIMENTS,
        *sewage_si_cpo.EXPERIMENTS,
        *ship_si_cppo.EXPERIMENTS,
    )
}

__all__ = ["EXPERIMENTS", "Experiment", "Outcome", "Progress"]
