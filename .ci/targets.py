"""Build the kernel's self-test for every target that wheels are built for, and run it where that is possible.

    python .ci/targets.py            with the compilers that are here, and with those of `ziglang` if it is installed
    python .ci/targets.py g++ zig    only for targets whose names begin like that

Binaries for Linux on other processors run under qemu-user, those for Windows under wine; all others are only built.
"""

from __future__ import annotations

import platform
import runpy
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import setuptools

ROOT = Path(__file__).resolve().parent.parent
ZIG = (
    "x86_64-linux-gnu.2.17", "aarch64-linux-gnu.2.17", "x86_64-linux-musl", "aarch64-linux-musl", "x86_64-windows-gnu",
    "aarch64-macos", "x86_64-macos",
)  # fmt: skip
CROSS = ("aarch64-linux-gnu-g++", "x86_64-w64-mingw32-g++-posix")  # Debian's
SECONDS = 900  # for one target: the first time, zig builds its own library


def flags() -> list[str]:
    """Those of setup.py, without building anything."""
    setup, setuptools.setup = setuptools.setup, lambda **_: None
    try:
        found = runpy.run_path(str(ROOT / "setup.py"))
    finally:
        setuptools.setup = setup
    return [*found["FLAGS"], *found["QUIET"]]


def compilers() -> dict[str, list[str]]:
    """Each target, and the command that compiles for it."""
    found = {name: [name, "-pthread"] for name in ("g++", "clang++") if shutil.which(name)}
    found |= {name: [name, "-static", "-pthread"] for name in CROSS if shutil.which(name)}
    if find_spec("ziglang"):
        found |= {f"zig {target}": [sys.executable, "-m", "ziglang", "c++", "-target", target] for target in ZIG}
    return found


def runner(target: str) -> list[str] | None:
    """What runs a binary of a target here; None if nothing does."""
    if "macos" in target and sys.platform != "darwin":
        return None
    if ("windows" in target or "mingw" in target) and sys.platform != "win32":
        return [wine] if (wine := shutil.which("wine64") or shutil.which("wine")) else None
    if "aarch64" in target and platform.machine() not in ("aarch64", "arm64"):
        # What zig builds for glibc needs that library, too; the one for musl brings it along.
        return [qemu] if target.split()[-1] != ZIG[1] and (qemu := shutil.which("qemu-aarch64")) else None
    return []


def tested(target: str, compiler: list[str], folder: Path) -> bool:
    """Whether a target is built, and passes where it runs."""
    program, sources = folder / "selftest.exe", sorted(map(str, (ROOT / "lsip/kernel").glob("*.cpp")))
    command = [*compiler, *flags(), f"-I{ROOT / 'lsip/kernel'}", str(ROOT / "tests/kernel_selftest.cpp"), *sources]
    try:
        built = subprocess.run(
            [*command, "-o", str(program)], capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        print(f"{target}: does not compile in {SECONDS} s.", flush=True)
        return False
    if built.returncode != 0:
        print(f"{target}: does not compile.\n{built.stderr}", flush=True)
        return False
    ways = runner(target)
    if ways is None:
        print(f"{target}: built; nothing here runs it.", flush=True)
        return True
    run = [*ways, str(program), str(folder / "vectors.bin")]
    done = subprocess.run(run, capture_output=True, text=True, timeout=SECONDS, check=False)
    print(f"{target}: {' '.join(done.stdout.split(chr(10))) or f'ended with {done.returncode}'}", flush=True)
    return done.returncode == 0


def main(names: list[str]) -> int:
    """Run what is asked for; the exit code is 1 if a target fails."""
    chosen = {t: c for t, c in compilers().items() if not names or any(t.startswith(name) for name in names)}
    with tempfile.TemporaryDirectory() as folder:
        vectors = [sys.executable, "-m", "tests.kernel_vectors", str(Path(folder, "vectors.bin"))]
        subprocess.run(vectors, cwd=ROOT, check=True)
        results = [tested(target, compiler, Path(folder)) for target, compiler in chosen.items()]
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
