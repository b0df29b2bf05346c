"""What publishing needs: workflows that trust nothing by name, the bill of materials, hashes, and the check of tags."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def script(name: str) -> dict[str, Any]:
    return runpy.run_path(str(ROOT / ".ci" / name))


def loose(text: str) -> list[str]:
    """Actions that are not pinned by a full hash with the version beside it."""
    used = re.findall(r"uses: *(.*)", text)
    return [line for line in used if not re.fullmatch(r"[\w-]+/[\w/-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", line)]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_actions_are_pinned_and_may_only_read(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert loose(text) == []
    assert "\npermissions: { contents: read }\n" in text
    assert "secrets." not in text
    assert text.count("runs-on:") == text.count("timeout-minutes:") + text.count("id-token: write")


def test_one_version_of_each_action_is_used() -> None:
    used = {line for path in WORKFLOWS for line in re.findall(r"uses: *(\S+@\S+)", path.read_text(encoding="utf-8"))}
    names = [line.partition("@")[0] for line in used]
    assert len(names) == len(set(names)) > 5


def test_a_loose_action_is_found() -> None:
    assert loose("- uses: actions/checkout@v4\n") == ["actions/checkout@v4"]
    assert loose("- uses: actions/checkout@" + "a" * 39 + "  # v4.0.0\n")
    assert not loose("- uses: actions/checkout@" + "a" * 40 + "  # v4.0.0\n")


def test_only_a_tag_of_this_version_from_a_ready_tree_is_published(tmp_path: Path) -> None:
    complaints = script("tagged.py")["complaints"]
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    assert complaints(f"v{told}", tmp_path) == ["Replace OWNER in pyproject.toml by the owner of the repository."]
    text = (tmp_path / "pyproject.toml").read_text(encoding="utf-8").replace("github.com/OWNER/", "github.com/us/")
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    assert complaints(f"v{told}", tmp_path) == []
    assert complaints("v9.9.9", tmp_path) == [f"The tag is v9.9.9, and pyproject.toml says {told}."]
    (tmp_path / "CHANGELOG.md").write_text("## Unreleased\n", encoding="utf-8")
    assert complaints(f"v{told}", tmp_path) == [f"CHANGELOG.md has no section [{told}] with a date."]


def test_the_address_of_the_repository_is_in_one_place() -> None:
    found = [
        path.relative_to(ROOT).as_posix()
        for pattern in ("*.toml", "*.cff", "*.md", "lsip/**/*.py", "docs/*.py", "packaging/**/*", "lsip-rl/*")
        for path in ROOT.glob(pattern)
        if path.is_file() and "github.com/OWNER" in path.read_text(encoding="utf-8")
    ]
    assert found == ["pyproject.toml"]


def test_the_bill_of_materials_has_the_core_and_no_more() -> None:
    made = script("sbom.py")["bill"](["lsip"])
    names = {entry["name"]: entry["version"] for entry in made["components"]}
    assert {"numpy", "scipy", "highspy", "clarabel"} <= names.keys()
    assert "torch" not in names
    assert names["numpy"] == version("numpy")
    assert made["metadata"]["component"]["name"] == "lsip"
    known = {entry["bom-ref"] for entry in [*made["components"], made["metadata"]["component"]]}
    assert {link["ref"] for link in made["dependencies"]} == known
    assert all(set(link["dependsOn"]) <= known for link in made["dependencies"])
    assert json.loads(json.dumps(made))["bomFormat"] == "CycloneDX"
    with pytest.raises(SystemExit, match="is not installed here"):
        script("sbom.py")["bill"](["no-such-distribution"])


def test_the_lock_has_the_constrained_versions_with_hashes_and_no_address() -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in text
    assert "index" not in text
    locked = re.findall(r"^([\w.-]+)==(\S+) --hash=sha256:[0-9a-f]{64}$", text, re.MULTILINE)
    assert len(locked) == len(text.splitlines()) - 1
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert {f"{name.lower()}=={number}" for name, number in locked} <= {line.lower() for line in constraints}
    assert {"numpy", "scipy", "highspy", "clarabel"} <= {name for name, _ in locked}


def test_a_lock_without_a_hash_is_refused() -> None:
    item = {"metadata": {"name": "numpy", "version": "2.0"}, "download_info": {"url": "x"}}
    with pytest.raises(SystemExit, match="tells no hash of numpy"):
        script("lock.py")["lines"]([item])
