# `make demo` and `make test` need Python 3.11 or newer and make; they set up .venv by themselves, once.
# Another interpreter: make test PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo check test coverage versions docs lint format wheel pure-wheel playground sbom lock sanitise clean

help:
	@echo "make demo    solve a two-dimensional problem and draw it"
	@echo "make check   a first answer within two minutes: lint and the tests in short, without torch and Ray"
	@echo "make test    everything that guards the project: lint, types, tests"
	@echo "make versions the tests in short, on the oldest dependencies and on every other Python that is here"
	@echo "make docs    the documentation as a site, in docs/_build/html"
	@echo "make lint    ruff and mypy only"
	@echo "make format  let ruff rewrite the code"
	@echo "make wheel   wheels of lsip, with the compiled kernel for this platform, and of lsip-rl, and archives of their sources, in dist/"
	@echo "make pure-wheel  the same, without the kernel: for every machine"
	@echo "make coverage  which branches of lsip/ the tests reach; it fails below 90 %"
	@echo "make playground  the notebooks as a site that runs in a browser, in docs/_build/playground"
	@echo "make sbom    what is installed with lsip, as CycloneDX, in dist/sbom.json"
	@echo "make lock    requirements.lock: exact versions with hashes, for installs that check what they fetch"
	@echo "make sanitise  the kernel's tests and random tapes under AddressSanitizer and UBSan"
	@echo "make clean   remove .venv and all caches"

demo: $(VENV)/.plot
	$(BIN)/lsip demo

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 -m "not slow" $$($(BIN)/python .ci/versions.py list)

test: lint
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --durations 10 --durations-min 0.1

versions: $(VENV)/.dev
	$(BIN)/python .ci/versions.py every

docs: $(VENV)/.dev
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html in a browser."

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# With setuptools alone: nothing is fetched but that, and the same sources give the same bytes.
pure-wheel: export LSIP_KERNEL_BUILD := none
wheel pure-wheel: $(VENV)/.created
	@$(PIP) "setuptools>=77"
	rm -rf build lsip-rl/build dist
	$(BIN)/python .ci/build.py . dist > /dev/null
	$(BIN)/python .ci/build.py lsip-rl dist > /dev/null
	@ls dist

playground: pure-wheel
	@$(PIP) "jupyterlite-core[contents]" jupyterlite-pyodide-kernel
	$(BIN)/jupyter-lite build --contents notebooks --piplite-wheels dist/lsip-[0-9]*-none-any.whl --output-dir docs/_build/playground

coverage: $(VENV)/.dev
	@$(PIP) coverage
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m coverage run --branch --source lsip -m pytest -q -n 0
	$(BIN)/python -m coverage report --skip-covered --fail-under 90

sbom: $(VENV)/.created
	@mkdir -p dist
	$(BIN)/python .ci/sbom.py dist/sbom.json

lock: $(VENV)/.created
	$(BIN)/python .ci/lock.py requirements.lock

# The kernel with checks of every access and operation (AddressSanitizer, UBSan): its tests, and random tapes.
TAPES ?= 10000
CHECKED := -g -fsanitize=address,undefined -fno-sanitize-recover=all
sanitise: $(VENV)/.dev
	CFLAGS="$(CHECKED)" LDFLAGS="$(CHECKED)" $(BIN)/python setup.py -q build_ext --inplace --force
	ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	$(BIN)/python -c "from benchmarks.kernel import tapes; print(tapes($(TAPES), 0))"
	ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	$(BIN)/python -m pytest -q -n 0 tests/test_kernel.py tests/test_compiled_search.py -k "not environment and not load"
	$(BIN)/python setup.py -q build_ext --inplace --force

# One stamp an extra: set-up is repeated only when the dependencies or the sources of the compiled kernel change.
KERNEL := setup.py $(wildcard lsip/kernel/*.cpp lsip/kernel/*.inl lsip/kernel/*.hpp)

$(VENV)/.plot $(VENV)/.test $(VENV)/.dev: $(VENV)/.%: $(VENV)/.created pyproject.toml lsip-rl/pyproject.toml constraints.txt $(KERNEL)
	@echo "Installing lsip[$*] into $(VENV); this happens once."
	@$(PIP) -e ".[$*]" -e ./lsip-rl
	@touch $@

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "lsip needs Python 3.11 or newer, and \`$(PYTHON)\` is: $$($(PYTHON) --version 2>&1 || true)."; \
		echo "Name another one, for example: make $(or $(firstword $(MAKECMDGOALS)),test) PYTHON=python3.12"; \
		exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
		echo "Python could not create $(VENV); on Debian and Ubuntu, install the package python3-venv."; \
		exit 1; }
	@touch $@

clean:
	rm -rf $(VENV) $(VENV)-* build dist lsip-rl/build docs/_build docs/tutorials/*.ipynb .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info lsip-rl/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
