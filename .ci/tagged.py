"""Refuse to publish what is not ready: python .ci/tagged.py v0.3.0."""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def complaints(tag: str, root: Path = ROOT) -> list[str]:
    """Sentences about what has to be done first."""
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    version = tomllib.loads(text)["project"]["version"]
    found = [] if tag == f"v{version}" else [f"The tag is {tag}, and pyproject.toml says {version}."]
    if "github.com/OWNER/" in text:
        found.append("Replace OWNER in pyproject.toml by the owner of the repository.")
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE):
        found.append(f"CHANGELOG.md has no section [{version}] with a date.")
    return found


if __name__ == "__main__":
    sys.exit("\n".join(complaints(sys.argv[1])) or 0)
