"""Two distributions of one tree: what is in them, that they work together, and names that are taken."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import lsip

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {"lsip": ROOT, "lsip-rl": ROOT / "lsip-rl"}
PACKAGES = {"lsip": ("lsip",), "lsip-rl": ("rl", "envs")}
DATA = {"lsip": ("py.typed", "report/*.css", "report/*.js"), "lsip-rl": ("py.typed",)}
BUILD = "import sys; from setuptools import build_meta; build_meta.build_{}(sys.argv[1])"
FOLDERS_OF_THE_TREE = ("lsip", "rl", "envs", "lsip-rl", "tests", "benchmarks", "docs", "notebooks", ".ci", ".github")
BUILT = (
    "__pycache__",
    "*.pyc",
    "*.so",
    "*.pyd",
    "build",
    "_build",
    "*.egg-info",
    "*.npz",
    "*.log",
    ".ipynb_checkpoints",
)


def project(name: str) -> dict:
    return tomllib.loads((FOLDERS[name] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def python(*words: str, **options) -> str:
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, timeout=300, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def modules(name: str) -> set[str]:
    """The files of a distribution's packages, from the root."""
    folders = [ROOT / package for package in PACKAGES[name]]
    found = [path for folder in folders for kind in ("**/*.py", *DATA[name]) for path in folder.glob(kind)]
    return {path.relative_to(ROOT).as_posix() for path in found}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Archives of both distributions, and wheels that were built from these archives, not from the checkout."""
    pytest.importorskip("setuptools", minversion="77")
    made = tmp_path_factory.mktemp("built")
    tree = made / "tree"
    ignore = shutil.ignore_patterns(*BUILT)
    for name in FOLDERS_OF_THE_TREE:
        shutil.copytree(ROOT / name, tree / name, ignore=ignore)
    for path in ROOT.iterdir():
        if path.is_file() and path.suffix not in (".npz", ".log", ".png", ".html", ".json"):
            shutil.copy(path, tree)
    without_compiler = {**os.environ, "CC": "no-compiler", "CXX": "no-compiler"}  # the kernel is slow to build
    for folder in (tree, tree / "lsip-rl"):
        python("-c", BUILD.format("sdist"), str(made), cwd=folder)
    for archive in made.glob("*.tar.gz"):
        with tarfile.open(archive) as opened:
            opened.extractall(made / "unpacked", filter="data")
    shutil.rmtree(tree)
    for folder in (made / "unpacked").iterdir():
        python("-c", BUILD.format("wheel"), str(made), cwd=folder, env=without_compiler)
    return made


def wheel(built: Path, name: str) -> Path:
    (found,) = built.glob(f"{name.replace('-', '_')}-{lsip.__version__}-*.whl")
    return found


@pytest.fixture(scope="module")
def site(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both wheels, unpacked as pip does; the checkout is nowhere on the path of Python."""
    folder = tmp_path_factory.mktemp("site")
    for name in FOLDERS:
        with zipfile.ZipFile(wheel(built, name)) as opened:
            opened.extractall(folder)
    return folder


def at(folder: Path, *earlier: Path) -> dict:
    """Options of a process that finds its packages in these folders first."""
    path = os.pathsep.join(map(str, [*earlier, folder]))
    return {"cwd": folder.parent, "env": {**os.environ, "PYTHONPATH": path}}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_wheel_has_its_packages_and_nothing_else(built, name):
    with zipfile.ZipFile(wheel(built, name)) as opened:
        files = {file for file in opened.namelist() if ".dist-info/" not in file}
    assert files == modules(name)


def files_of(built: Path, name: str) -> set[str]:
    """The files of an archive of sources, but for what setuptools adds."""
    with tarfile.open(built / f"{name.replace('-', '_')}-{lsip.__version__}.tar.gz") as opened:
        files = {member.name.partition("/")[2] for member in opened if member.isfile()}
    return {file for file in files if ".egg-info/" not in file} - {"PKG-INFO", "setup.cfg"}


def test_the_archive_of_rl_has_all_that_its_wheel_needs(built):
    assert files_of(built, "lsip-rl") == modules("lsip-rl") | {"LICENSE", "README.md", "pyproject.toml", "setup.py"}


def test_the_archive_of_lsip_can_run_its_own_tests(built):
    files = files_of(built, "lsip")
    kept = shutil.ignore_patterns(*BUILT)
    for folder in FOLDERS_OF_THE_TREE:
        for place, _, names in os.walk(ROOT / folder):
            home = Path(place).relative_to(ROOT)
            if not any(part in kept("", home.parts) for part in home.parts):
                assert {(home / name).as_posix() for name in set(names) - kept(place, names)} <= files
    assert {"Makefile", "constraints.txt", "pyproject.toml", "setup.py", "CHANGELOG.md"} <= files


def test_a_wheel_without_the_kernel_is_one_for_every_machine(built):
    assert wheel(built, "lsip").name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel(built, "lsip")) as opened:
        (told,) = (file for file in opened.namelist() if file.endswith(".dist-info/WHEEL"))
        assert "Root-Is-Purelib: true" in opened.read(told).decode()


def test_the_extra_rl_is_the_other_distribution_of_the_same_version(built):
    told = {}
    for name in FOLDERS:
        with zipfile.ZipFile(wheel(built, name)) as opened:
            (metadata,) = (file for file in opened.namelist() if file.endswith(".dist-info/METADATA"))
            told[name] = Parser().parsestr(opened.read(metadata).decode())
    needed = told["lsip"].get_all("Requires-Dist")
    assert [line for line in needed if "extra" not in line] == project("lsip")["dependencies"]
    assert f'lsip-rl=={lsip.__version__}; extra == "rl"' in needed
    assert told["lsip-rl"].get_all("Requires-Dist") == [f"lsip=={lsip.__version__}"]
    assert told["lsip"]["Requires-Python"] == told["lsip-rl"]["Requires-Python"]


def test_every_place_tells_the_same_version():
    places = {name: project(name)["version"] for name in FOLDERS}
    (places["citation"],) = re.findall(
        r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert set(places.values()) == {lsip.__version__}, places
    assert (ROOT / "LICENSE").read_text(encoding="utf-8") == (ROOT / "lsip-rl" / "LICENSE").read_text(encoding="utf-8")


def test_lsip_alone_says_what_is_missing(built, tmp_path):
    with zipfile.ZipFile(wheel(built, "lsip")) as opened:
        opened.extractall(tmp_path / "site")
    hidden = (
        "import sys; from importlib import metadata as m; m.entry_points = lambda **_: (); from lsip.cli import main; "
    )
    run = [sys.executable, "-c", hidden + "sys.exit(main(['train', 'ship', '--seed', '1']))"]
    done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=60, **at(tmp_path / "site"))
    assert done.returncode == 1
    assert done.stderr == "lsip: The command 'train' comes with lsip-rl: pip install 'lsip[rl]'.\n"


def test_the_wheels_work_together(site):
    asked = "import lsip, rl, envs; print(lsip.__file__, rl.__file__, envs.__file__, sep='\\n')"
    assert python("-c", asked, **at(site)).split() == [str(site / p / "__init__.py") for p in ("lsip", "rl", "envs")]
    assert "ship" in python("-m", "lsip", "train", "--help", **at(site))


def test_gymnasium_finds_the_environments(site):
    pytest.importorskip("gymnasium")
    asked = "import gymnasium; print(gymnasium.make('envs:lsip/ShipRoute-v0').spec.id)"
    assert python("-W", "ignore", "-c", asked, **at(site)).split()[-1] == "lsip/ShipRoute-v0"


# ---- names that are taken --------------------------------------------------------------------------------------------


def write_over(site: Path, package: str) -> None:
    """What pip does when another distribution has a package of the same name."""
    (site / package / "__init__.py").write_text("'''Theirs.'''\n", encoding="utf-8")
    info = site / f"{package}_of_others-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {package}-of-others\nVersion: 1.0\n", encoding="utf-8"
    )
    (info / "RECORD").write_text(f"{package}/__init__.py,,\n", encoding="utf-8")


@pytest.fixture
def copy(site, tmp_path):
    return Path(shutil.copytree(site, tmp_path / "site"))


CATCH = """
import lsip
try:
    import envs
except ImportError as error:
    assert isinstance(error, lsip.LSIPError)
    print(error)
"""
AGAIN = "pip install --force-reinstall --no-deps lsip-rl.\n"


def test_a_package_rl_of_others_is_named(copy):
    write_over(copy, "rl")
    said = python("-c", CATCH, **at(copy))
    assert said == (
        "The distribution rl-of-others has written over the package `rl` of lsip-rl: pip uninstall rl-of-others, then "
        + AGAIN
    )


def test_a_package_envs_of_others_is_named(copy):
    write_over(copy, "envs")
    said = python(
        "-W",
        "always",
        "-c",
        "import warnings\nwith warnings.catch_warnings(record=True) as w:\n    import rl\nprint(w[0].message)",
        **at(copy),
    )
    assert said.startswith("The distribution envs-of-others has written over the package `envs` of lsip-rl: ")
    run = [sys.executable, "-m", "lsip", "train", "ship"]
    done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=60, **at(copy))
    assert done.returncode == 1
    assert "envs-of-others has written over" in done.stderr


def test_a_package_that_was_uninstalled_with_that_of_others_is_named(copy):
    (copy / "rl" / "__init__.py").unlink()
    assert python("-c", CATCH, **at(copy)) == f"The package `rl` of lsip-rl is gone: {AGAIN}"


def test_a_folder_that_hides_ours_is_named(site, tmp_path):
    (tmp_path / "mine" / "rl").mkdir(parents=True)
    (tmp_path / "mine" / "rl" / "__init__.py").write_text("", encoding="utf-8")
    said = python("-c", CATCH, **at(site, tmp_path / "mine"))
    assert said == (
        f"Python finds `rl` in {tmp_path / 'mine' / 'rl'}, which hides that of lsip-rl: rename it, or run from "
        "elsewhere.\n"
    )


def test_environments_of_ones_own_hide_ours_without_a_word(site, tmp_path):
    (tmp_path / "mine" / "envs").mkdir(parents=True)
    (tmp_path / "mine" / "envs" / "__init__.py").write_text("", encoding="utf-8")
    assert (
        python("-W", "error", "-c", "import rl, envs; print(rl.plan.__name__)", **at(site, tmp_path / "mine"))
        == "plan\n"
    )
