"""The notebooks run from top to bottom, and what they store is fit to be read: outputs, pictures, numbers, links."""

from __future__ import annotations

import ast
import base64
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LARGEST = 1_000_000  # bytes of one notebook
TIMEOUT = 600  # seconds for one cell, on a busy machine
TEXT = ("text/plain", "text/html", "text/latex", "text/markdown")
LINK = re.compile(r"\]\(([^)\s]+)\)")
# Home and temporary folders, checkouts and installed packages: no reader has the author's.
MACHINE = re.compile(r"(?<![\w.])/(?:home|root|tmp|work|usr|opt|mnt|var|Users|private)/|[A-Z]:\\+Users|site-packages")

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def code(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(notebook: NotebookNode) -> Iterator[NotebookNode]:
    for cell in code(notebook):
        yield from cell.outputs


def printed(notebook: NotebookNode) -> str:
    """All text that the notebook stores as output."""
    parts = [output.text for output in outputs(notebook) if output.output_type == "stream"]
    parts += [output.get("data", {}).get(kind, "") for output in outputs(notebook) for kind in TEXT]
    return "\n".join(parts)


def pictures(notebook: NotebookNode) -> int:
    return sum("image/png" in output.get("data", {}) for output in outputs(notebook))


def execute(notebook: NotebookNode, folder: Path) -> None:
    """Run all cells in `folder`, with this interpreter and this checkout, shortened; an error in a cell is raised."""
    # Without folders to search, the only kernel known is that of the running interpreter.
    manager = AsyncKernelManager(
        kernel_name="python3",
        kernel_spec_manager=KernelSpecManager(kernel_dirs=[], ensure_native_kernel=True),
        connection_file=str(folder / "kernel.json"),
    )
    environment = os.environ | {
        "SMOKE_TEST": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        "IPYTHONDIR": str(folder / "ipython"),  # no history and no start-up files of whoever runs the tests
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    }
    client = NotebookClient(notebook, km=manager, timeout=TIMEOUT, resources={"metadata": {"path": str(folder)}})
    client.execute(env=environment, cleanup_kc=True)  # a manager of our own would otherwise be left running


def dead_links(path: Path, text: str) -> list[str]:
    """Relative links of a page that lead nowhere."""
    targets = [urlsplit(target) for target in LINK.findall(text)]
    return [t.path for t in targets if not t.scheme and t.path and not (path.parent / t.path).exists()]


def test_notebooks_are_numbered():
    numbers = [int(path.name[:2]) for path in NOTEBOOKS]
    assert numbers[0] == 1
    assert sorted(set(numbers)) == numbers, "two notebooks have one number"


@each_notebook
def test_notebook_runs(path, tmp_path):
    notebook = read(path)
    execute(notebook, tmp_path)
    complaints = [o.text for o in outputs(notebook) if o.output_type == "stream" and o.name == "stderr"]
    assert complaints == []
    assert pictures(notebook) >= 1


@each_notebook
def test_stored_outputs_are_complete_and_tidy(path):
    notebook = read(path)
    nbformat.validate(notebook)
    assert path.stat().st_size < LARGEST
    assert notebook.metadata.kernelspec.name == "python3"
    assert [cell.execution_count for cell in code(notebook)] == list(range(1, len(code(notebook)) + 1))
    assert [o for o in outputs(notebook) if o.output_type == "error" or o.get("name") == "stderr"] == []
    assert pictures(notebook) >= 1
    assert "Warning" not in printed(notebook)


@each_notebook
def test_no_machine_shows_through(path):
    notebook = read(path)
    text = "\n".join([*(cell.source for cell in notebook.cells), printed(notebook), str(notebook.metadata)])
    assert MACHINE.findall(text) == []


@each_notebook
def test_headline_number_is_asserted(path):
    """At least one `assert` compares something; a bare `assert True` would not count."""
    asserts = [
        node for cell in code(read(path)) for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Assert)
    ]
    assert any(isinstance(inner, ast.Compare) for node in asserts for inner in ast.walk(node.test))


@each_notebook
def test_title_is_a_question(path):
    first = read(path).cells[0]
    assert first.cell_type == "markdown"
    assert re.match(r"# .*\?", first.source.splitlines()[0])


@each_notebook
def test_the_answer_comes_first(path):
    """Below the title is a picture that the notebook draws; the cell that only imports is folded."""
    notebook = read(path)
    picture = ROOT / "docs" / "figures" / "notebooks" / f"{path.name[:2]}.png"
    assert f"](../docs/figures/notebooks/{picture.name})" in notebook.cells[0].source
    drawn = [output.data["image/png"] for output in outputs(notebook) if "image/png" in output.get("data", {})]
    assert picture.read_bytes() in [base64.b64decode(each) for each in drawn]
    assert "hide-input" in code(notebook)[0].metadata.tags
    assert "pip install '." in notebook.cells[0].source


@each_notebook
def test_links_lead_somewhere(path):
    markdown = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    assert dead_links(path, markdown) == []


def test_index_lists_every_notebook():
    index = FOLDER / "README.md"
    text = index.read_text(encoding="utf-8")
    assert dead_links(index, text) == []
    assert [target for target in LINK.findall(text) if target.endswith(".ipynb")] == [path.name for path in NOTEBOOKS]


def notebook_of(source: str) -> NotebookNode:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])


def test_a_wrong_number_fails(tmp_path):
    with pytest.raises(CellExecutionError, match="AssertionError"):
        execute(notebook_of("value = 1.5\nassert abs(value - 1.4) < 1e-3"), tmp_path)


def test_kernel_is_this_interpreter_in_an_empty_folder(tmp_path):
    notebook = notebook_of(
        "import os, sys, lsip\nprint(sys.executable)\nprint(lsip.__file__)\nprint(os.environ['SMOKE_TEST'])"
    )
    execute(notebook, tmp_path)
    executable, package, smoke = printed(notebook).split("\n")[:3]
    assert Path(executable) == Path(sys.executable)
    assert Path(package).is_relative_to(ROOT)
    assert smoke == "1"


def test_machine_paths_would_be_noticed():
    assert MACHINE.search("File /home/me/lsip/x.py")
    assert MACHINE.search(r"C:\Users\me")
    assert not MACHINE.search(r"lower/upper, ../docs/oracles.md, 1/2 and $y \in Y:\quad x$")
