"""Write exact versions with hashes: python .ci/lock.py requirements.lock [extra…].

The versions are those of constraints.txt. pip resolves lsip with these extras, fetches nothing but metadata, and its
report has the hash of each file for this platform. No address is written. Install with

    pip install --require-hashes --no-deps -r requirements.lock && pip install --no-deps lsip-0.3.0-….whl
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def resolved(extras: list[str]) -> list[dict]:
    """What pip would install besides lsip itself."""
    wanted = f"{ROOT}[{','.join(extras)}]" if extras else str(ROOT)
    command = [
        sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed", "--only-binary=:all:",
        "--report", "-", "-c", str(ROOT / "constraints.txt"), wanted,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"pip cannot resolve {wanted}:\n{done.stderr.strip()}")
    return [item for item in json.loads(done.stdout)["install"] if item["metadata"]["name"] not in ("lsip", "lsip-rl")]


def lines(items: list[dict]) -> list[str]:
    """One line each, in order."""
    found = []
    for item in sorted(items, key=lambda i: i["metadata"]["name"].lower()):
        told = item["download_info"].get("archive_info", {}).get("hashes", {})
        if "sha256" not in told:
            raise SystemExit(f"pip tells no hash of {item['metadata']['name']}.")
        found.append(f"{item['metadata']['name']}=={item['metadata']['version']} --hash=sha256:{told['sha256']}")
    return found


if __name__ == "__main__":
    made_for = f"Python {'.'.join(platform.python_version_tuple()[:2])} on {sys.platform}, {platform.machine()}"
    head = f"# Made by .ci/lock.py for {made_for}; install with pip --require-hashes --no-deps -r."
    Path(sys.argv[1]).write_text("\n".join([head, *lines(resolved(sys.argv[2:]))]) + "\n", encoding="utf-8")
