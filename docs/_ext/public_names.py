"""Where public names are documented: types in signatures link to the name that users import."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

MODULES = (
    "lsip",
    "lsip.oracles",
    "lsip.catalogue",
    "lsip.interop.cvxpy",
    "lsip.interop.pyomo",
    "rl",
    "rl.baselines",
    "rl.updates",
    "envs",
)


def public_names() -> dict[str, Any]:
    """Every name in the `__all__` of a public module, with what it stands for."""
    found = {}
    for module in MODULES:
        if find_spec(module.rpartition(".")[0] or module) is not None and find_spec(module) is not None:
            loaded = import_module(module)
            found |= {f"{module}.{name}": getattr(loaded, name) for name in getattr(loaded, "__all__", ())}
    return found


def resolve(app: Sphinx, env: BuildEnvironment, node: pending_xref, contnode: nodes.TextElement) -> Any:
    """Turn a reference to where something is defined into one to where it is documented."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    homes = {f"{getattr(o, '__module__', '')}.{getattr(o, '__qualname__', '')}": n for n, o in public_names().items()}
    name = homes.get(target)
    objects = env.domains.python_domain.objects
    if name is None or name not in objects:
        return None
    entry = objects[name]
    return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, contnode, name)


def setup(app: Sphinx) -> dict[str, bool]:
    """Help where a reference is missing."""
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
