"""Where the packages rl and envs are: one folder up in a checkout, beside this file in an archive of the sources."""

import shutil
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.sdist import sdist

PACKAGES = ("rl", "envs")
HOME = "." if Path("rl").is_dir() else ".."


class Archive(sdist):
    """An archive with both packages in it, so that it can be built anywhere."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Lay out the archive: files of this folder, then the packages from wherever they are."""
        super().make_release_tree(base_dir, [name for name in files if not name.startswith("..")])
        for source in (path for package in PACKAGES for path in Path(HOME, package).rglob("*")):
            if source.suffix in (".py", ".typed"):
                target = Path(base_dir, source.relative_to(HOME))
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)


setup(
    packages=find_packages(HOME, include=[name for package in PACKAGES for name in (package, f"{package}.*")]),
    package_dir={package: f"{HOME}/{package}" for package in PACKAGES},
    cmdclass={"sdist": Archive},
)
