"""The paper's guarantees as calculators: how many samples, iterations, paths or points give which accuracy.

| question | function |
| --- | --- |
| does the optimistic set contain the truth? | `optimistic_failure`, `optimistic_delta` |
| how many samples does SI-CRL need? | `samples_two_successors`, `samples_general`, `samples_measure` |
| what do n samples guarantee? | `error_two_successors`, `error_general`, `error_measure` |
| how large is the model with two successors? | `binary_tree` |
| how often does SI-CRL iterate, how fine is its search? | `iterations_sicrl`, `grid_size_sicrl`, `pga_steps_sicrl` |
| how is SI-CPO to be set? | `tolerance_sicpo`, `iterations_sicpo`, `learning_rate_sicpo`, `horizon_sicpo`, |
| | `evaluation_paths_sicpo`, `sgd_steps_sicpo`, `grid_size_sicpo`, `pga_steps_sicpo` |
| how often does SI-CPO touch the environment? | `interactions_sicpo` |
| points that are far apart; points that hit a box | `packing_number`, `grid_size` |

These are worst-case guarantees: sufficient, rarely necessary, often astronomically large. Rewards and costs lie in
[0, 1], so values lie in [0, 1/(1 - gamma)]; distances in Y are in the sup norm. Theorems are named by their labels in
the paper. Where a proof there has a slip, the function uses what the repaired proof gives, and its docstring says so.

`sharp=True` replaces a constant of the paper by a smaller one that is proven too.
"""

from .assumptions import (
    IndexSet,
    PolicyClass,
)
from .bound import (
    Bound,
)
from .index_points import (
    grid_size,
    grid_size_sicrl,
    iterations_sicrl,
    packing_number,
    pga_steps_sicrl,
)
from .samples import (
    BinaryTree,
    binary_tree,
    error_general,
    error_measure,
    error_two_successors,
    optimistic_delta,
    optimistic_failure,
    samples_general,
    samples_measure,
    samples_two_successors,
)
from .si_cpo import (
    evaluation_paths_sicpo,
    grid_size_sicpo,
    horizon_sicpo,
    interactions_sicpo,
    iterations_sicpo,
    learning_rate_sicpo,
    pga_steps_sicpo,
    sgd_steps_sicpo,
    tolerance_sicpo,
)

__all__ = [
    "BinaryTree",
    "Bound",
    "IndexSet",
    "PolicyClass",
    "binary_tree",
    "error_general",
    "error_measure",
    "error_two_successors",
    "evaluation_paths_sicpo",
    "grid_size",
    "grid_size_sicpo",
    "grid_size_sicrl",
    "horizon_sicpo",
    "interactions_sicpo",
    "iterations_sicpo",
    "iterations_sicrl",
    "learning_rate_sicpo",
    "optimistic_delta",
    "optimistic_failure",
    "packing_number",
    "pga_steps_sicpo",
    "pga_steps_sicrl",
    "samples_general",
    "samples_measure",
    "samples_two_successors",
    "sgd_steps_sicpo",
    "tolerance_sicpo",
]
