# The whole command surface. Every target makes its own environment; the second time that costs nothing.
PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
STAMP  := $(VENV)/.complete
JOBS   ?= auto

export PYTHONPATH :=
export PYTHONDONTWRITEBYTECODE :=# pytest compiles 200 files on every run otherwise
export PULUMI_SKIP_UPDATE_CHECK = 1

PATHS   = PYTHONPATH=$(1)/blueprints:$(1)/components:$(1)

.PHONY: demo test test-fast cluster test-cluster behaviour check bench peers up lock schema goldens plugins sbom audit clean help

help:           ## this list
	@grep -hE '^[a-z-]+: .*## ' $(MAKEFILE_LIST) | sed 's/:[^#]*## /\t/' | expand -t 16

# A stamp that we wrote is trusted, the mere existence of .venv is not: a `pulumi preview` that failed leaves an empty one behind.
# It is a copy of what was installed: an edited pyproject.toml alone never clears an environment that something else is using.
$(STAMP): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "rackwright needs Python 3.11 or newer; set PYTHON=/path/to/python3.11")'
	@if cmp -s requirements.txt $(STAMP); then exit; fi; rm -f $(STAMP); \
	echo "making $(VENV) from requirements.txt (once)"; \
	$(PYTHON) -m venv --clear $(VENV) || exit; \
	if command -v uv >/dev/null; then \
	  UV_COMPILE_BYTECODE=1 uv pip install -q --python $(PY) --require-hashes -r requirements.txt && exit; echo "uv could not; using pip"; \
	fi; $(PY) -m pip install -q --disable-pip-version-check --require-hashes -r requirements.txt
	@$(PY) -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation --no-index -e .
	@cp requirements.txt $(STAMP)

demo: $(STAMP)  ## size, explain, price and compile nine workloads; with pulumi on PATH also create and destroy them on a simulated cloud
	@$(PY) sim/demo.py

test: $(STAMP)  ## every test that needs no cloud; those marked engine need pulumi on PATH
	@$(PY) -m pytest -n $(JOBS) --dist loadgroup

test-fast: $(STAMP) ## the inner loop: every test but the sweeps over matrix, catalog and measured runs
	@$(PY) -m pytest -n $(JOBS) --dist loadgroup --fast

cluster: $(STAMP) ## build the control plane of tests/cluster once, into ~/.cache/rackwright/cluster (needs Go)
	@$(PY) -m tests.cluster.binaries
	@$(PY) -m tests.render.renderers

test-cluster: cluster ## every object on a real API server, the real scheduler on nodes shaped like the pools (needs etcd)
	@$(PY) -m pytest -n 0 tests/cluster

behaviour: $(STAMP) ## answers of this checkout against those of commit BASE: plans, stacks, graphs and the AWS matrix (15 minutes; less with ONLY=chat)
	@rm -rf .cache/behaviour && mkdir -p .cache/behaviour/base && git archive $(BASE) | tar -x -C .cache/behaviour/base
	@$(call PATHS,$(CURDIR)/.cache/behaviour/base) $(PY) benchmarks/behaviour.py record .cache/behaviour/old.json --specs .cache/behaviour/base --only '$(ONLY)'
	@$(call PATHS,$(CURDIR)) $(PY) benchmarks/behaviour.py record .cache/behaviour/new.json --specs .cache/behaviour/base --only '$(ONLY)'
	@$(PY) benchmarks/behaviour.py compare .cache/behaviour/old.json .cache/behaviour/new.json

check: $(STAMP) ## lint, format, types
	@$(VENV)/bin/ruff check -q . && $(VENV)/bin/ruff format --check -q . && $(VENV)/bin/ty check -q blueprints components sim benchmarks __main__.py

# A target of speed that this machine misses is said at the end, when every page is written.
bench: $(STAMP) ## accuracy against published runs, peers on the same rows, search and speed on this machine; renews their docs/*.md
	@$(PY) benchmarks/accuracy.py --folds
	@$(PY) benchmarks/cards.py
	@$(PY) benchmarks/peers.py
	@$(PY) benchmarks/search.py --write; fast=$$?; $(PY) benchmarks/speed.py --write && exit $$fast

peers: $(STAMP) ## llm-analysis and aisimulate on the same rows and the same search: docs/peers.md (installs them under .cache)
	@$(PY) benchmarks/peers.py

up: $(STAMP)    ## pulumi up of STACK=<stack>, for real
	@pulumi up --stack $(STACK)

LOCK = uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header -q
lock: $(STAMP)  ## renew every lock file (needs uv)
	@$(LOCK) pyproject.toml --all-extras --group dev --upgrade -o requirements.txt
	@$(LOCK) pyproject.toml --extra aws --extra gcp --extra kubernetes -c requirements.txt -o components/requirements.txt
	@$(LOCK) .ci/audit.in --upgrade -o .ci/audit.txt

AUDIT = .cache/audit/bin
$(AUDIT)/.complete: .ci/audit.txt components/requirements.txt
	@rm -rf .cache/audit .cache/runtime && $(PYTHON) -m venv .cache/audit && $(PYTHON) -m venv --without-pip .cache/runtime
	@$(AUDIT)/python -m pip install -q --disable-pip-version-check --require-hashes -r .ci/audit.txt
	@$(AUDIT)/python -m pip --python .cache/runtime/bin/python install -q --require-hashes -r components/requirements.txt && touch $@

sbom: $(AUDIT)/.complete ## CycloneDX SBOM and licences of the runtime dependencies: .cache/sbom/
	@mkdir -p .cache/sbom
	@$(AUDIT)/cyclonedx-py environment .cache/runtime/bin/python --pyproject pyproject.toml -o .cache/sbom/rackwright.cdx.json
	@$(AUDIT)/pip-licenses --python .cache/runtime/bin/python --format=markdown --order=license --output-file .cache/sbom/licenses.md

# --strict: a package that the service does not answer for ends the audit, instead of being skipped.
audit: $(AUDIT)/.complete ## known vulnerabilities of every locked package
	@for file in requirements.txt components/requirements.txt .ci/audit.txt; do \
	  $(AUDIT)/pip-audit --strict --disable-pip --require-hashes --progress-spinner off -r $$file || exit; done

schema: $(STAMP) ## renew docs/schema/*.json from the models and the components
	@$(VENV)/bin/rackwright schema > docs/schema/spec.json
	@$(PY) -m rackwright_pulumi.package > docs/schema/components.json

goldens: $(STAMP) ## rewrite tests/golden/*.json from the code; read the difference before committing it
	@RACKWRIGHT_RENEW=goldens $(PY) -m pytest tests/golden -n 0

plugins: $(STAMP) ## plugin folders of the simulated clouds for sim/
	@mkdir -p .cache/sim/stacks
	@$(PY) -m rackwright_pulumi.simulator.provider.plugins .cache/sim/plugins .cache/sim/cloud.sqlite

clean:          ## remove what the targets made
	@rm -rf $(VENV) .cache dist .pytest_cache .ruff_cache .hypothesis
