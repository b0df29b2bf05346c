"""Build a wheel and an archive of the sources, the same bytes every time: python .ci/build.py FOLDER DIST.

It needs setuptools and, for the kernel, a C++ compiler; nothing is fetched. Times in the archives are those of the last
commit, or of SOURCE_DATE_EPOCH, so that who builds the same sources with the same tools gets the same files.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

from setuptools import build_meta

FIRST = 315532800  # 1980, the first year that a ZIP archive knows


def moment(folder: Path) -> int:
    """Seconds since 1970 that all files of the archives bear."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not given.isdigit():
        asked = ["git", "-C", str(folder), "log", "-1", "--format=%ct"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        given = done.stdout.strip() if done.returncode == 0 else ""
    return max(int(given or FIRST), FIRST)


def settle(archive: Path, time: int) -> None:
    """Write an archive of sources again: in order, with one time, and nobody's name."""
    written = io.BytesIO()
    with tarfile.open(archive) as old, tarfile.open(fileobj=written, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda m: m.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname, member.pax_headers = (
                time,
                0,
                0,
                "",
                "",
                {},
            )
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    with archive.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=time) as packed:
        packed.write(written.getvalue())


def main(folder: str, dist: str) -> None:
    """Build both, and print what they are."""
    target = Path(dist).resolve()
    target.mkdir(parents=True, exist_ok=True)
    time = moment(Path(folder))
    os.environ["SOURCE_DATE_EPOCH"] = str(time)
    os.umask(0o022)
    os.chdir(folder)
    archive = target / build_meta.build_sdist(str(target))
    settle(archive, time)
    wheel = target / build_meta.build_wheel(str(target))
    for path in (archive, wheel):
        print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}", file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
