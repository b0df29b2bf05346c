"""Say what lsip is installed with, as a CycloneDX bill of materials: python .ci/sbom.py sbom.json.

It reads the metadata of what is installed here, from lsip over everything that it asks for, and fetches nothing. Run
it in the environment that you ship.
"""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*")


def normal(name: str) -> str:
    """A name as registries compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(found: Distribution) -> list[str]:
    """What a distribution asks for without an extra, if it is installed."""
    names = []
    for line in found.requires or []:
        match = NAME.match(line)
        if match and "extra ==" not in line:
            names.append(match[0])
    return names


def installed(roots: list[str]) -> dict[str, Distribution]:
    """The distributions that are reached from the first ones, by name."""
    known: dict[str, Distribution] = {}
    left = list(roots)
    while left:
        name = left.pop()
        if normal(name) in known:
            continue
        try:
            known[normal(name)] = distribution(name)
        except PackageNotFoundError:  # for another system
            continue
        left += needed(known[normal(name)])
    return dict(sorted(known.items()))


def component(found: Distribution) -> dict[str, Any]:
    """One entry."""
    name, version = normal(found.metadata["Name"]), found.version
    licence = found.metadata.get("License-Expression") or found.metadata.get("License") or ""
    entry = {"type": "library", "name": name, "version": version, "bom-ref": f"pkg:pypi/{name}@{version}"}
    entry["purl"] = entry["bom-ref"]
    if licence and "\n" not in licence and len(licence) < 80:
        entry["licenses"] = [{"license": {"name": licence}}]
    return entry


def bill(roots: list[str]) -> dict[str, Any]:
    """The whole bill; the first root is what it is about."""
    known = installed(roots)
    entries = {name: component(found) for name, found in known.items()}
    first = normal(roots[0])
    if first not in entries:
        raise SystemExit(f"{roots[0]} is not installed here: pip install {roots[0]} first.")
    links = [
        {
            "ref": entries[name]["bom-ref"],
            "dependsOn": sorted({entries[normal(n)]["bom-ref"] for n in needed(found) if normal(n) in entries}),
        }
        for name, found in known.items()
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": entries[first]},
        "components": [entry for name, entry in entries.items() if name != first],
        "dependencies": links,
    }


if __name__ == "__main__":
    made = bill(["lsip", *sys.argv[2:]])
    Path(sys.argv[1]).write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    print(
        f"{sys.argv[1]}: lsip {made['metadata']['component']['version']} and {len(made['components'])} distributions."
    )
