# Start here: `make run` forwards sample events, `make test` runs all tests. `make help` lists the other targets.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
SITE := build/site-tools
MO := $(patsubst %.po,%.mo,$(wildcard producer/console/languages/*/*.po))
RUN_FLAGS := $(if $(ONCE),--once,)
# Number of test processes, each with its own Redis and PostgreSQL: more than cores, because many tests wait.
# The tests of a file share their servers, so each file runs in one process; the slowest files run first.
JOBS ?= 4
PYTEST = $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder
# Temporary files go into memory if there is enough of it.
MEMORY := $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 4000000 { print "/dev/shm" }')
test test-quick: export TMPDIR := $(or $(MEMORY),$(TMPDIR),/tmp)
COMPILE := $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes
# Keep compiled files, whatever the shell's setting: the tests start a hundred processes.
unexport PYTHONDONTWRITEBYTECODE

NEW_ENOUGH = $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11 ..."; exit 1; }

.DEFAULT_GOAL := help
.PHONY: help install run test test-quick test-wheel test-deploy test-ha test-browser pictures promises messages reference check format lock site wheel plugin image deb changelog release redmine test-redmine bench bench-long drill fuzz sbom clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(STAMP) $(MO) ## Install everything for use and tests into .venv

$(STAMP): pyproject.toml requirements.lock
	@$(NEW_ENOUGH)
	@echo "Installing into .venv (the first time about a minute) ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

%.mo: %.po | $(STAMP)
	@$(BIN)/python -c 'import setup; setup.compile_languages()'

run: install ## Forward sample events on this machine and show their results (ONCE=1: exit after the table)
	@$(BIN)/python -m deploy.embedded run $(RUN_FLAGS)

test: install ## Run the whole test suite, on a real Redis and PostgreSQL that it starts itself
	@$(PYTEST)

# unit tests do not wait, so more processes than cores would not help
test-quick: JOBS := auto
test-quick: install ## Run the unit tests, without a database or other processes
	@$(PYTEST) -m "not slow" tests/unit

test-wheel: install ## Install the wheel alone into a new venv, with the run-time lock, and forward an event (downloads)
	@$(BIN)/python -m pytest -m wheel tests/deployment

test-deploy: install ## Test each way to deploy (Debian, root; downloads): systemd, containers, upgrade, alerts, site, wheel, chart (or DEPLOYED=release)
	@tests/deployment/run $(DEPLOYED)

test-ha: install ## Test failures of nginx, pgbouncer, PostgreSQL, Sentinel, RabbitMQ (Debian; downloads; minutes each)
	@$(BIN)/python -m pytest -m ha -n 0 tests/deployment

test-browser: install ## Test the console in Debian's chromium (apt install chromium-headless-shell): journeys, accessibility
	@$(BIN)/python -m pytest -o addopts="-ra --strict-markers --strict-config" -n 2 --dist worksteal tests/browser --browser chromium

pictures: install ## Take the screenshots of README.md and docs/reference/console-pages.md from a real run (chromium-headless-shell)
	@DESKBRIDGE_TEST_PICTURES=docs/pictures $(BIN)/python -m pytest -o addopts="-ra" tests/browser/test_pictures.py --browser chromium

promises: install ## List each promise of docs/contributing/promises.md with its tests
	@$(BIN)/python -m tests.support.promises

messages: install ## Update and compile the translations of the pages and of GLPI's plugin
	@$(BIN)/python -m tests.support.catalogue
	@$(BIN)/python -m tests.support.plugin_catalogue

reference: install ## Write the generated parts of docs/: settings, commands, codes, metrics ...
	@$(BIN)/python -m deploy.site.reference

check: install ## Run linters, type checker, import rules, the word list, and checks of dependencies
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m tests.support.words
	@$(BIN)/deptry .
	@$(BIN)/python -m pip check

format: install ## Format the code and fix lint errors
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

lock: install ## Resolve the dependencies again: requirements.lock, and the lock for run time
	@$(COMPILE) --all-extras --upgrade --output-file requirements.lock
	@$(COMPILE) --constraint requirements.lock --output-file requirements-runtime.lock
	@$(subst pyproject.toml,deploy/site/requirements.in,$(COMPILE)) --upgrade --output-file deploy/site/requirements.lock

site: install $(SITE)/.installed ## Build the documentation site in build/site (downloads tools), and check every link
	@$(BIN)/python -m deploy.site build/pages
	@# no --quiet: it would drop warnings before --strict counts them
	@NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build --strict --config-file deploy/site/mkdocs.yml
	@$(SITE)/bin/lychee --quiet --no-progress --offline --include-fragments --root-dir $(CURDIR)/build/site \
		build/site *.md docs producer/admin/knowledge/records

$(SITE)/.installed: deploy/site/requirements.lock | $(STAMP)
	@$(PYTHON) -m venv --without-pip $(SITE)
	@$(BIN)/uv pip install --quiet --python $(SITE)/bin/python --require-hashes -r $<
	@touch $@

sbom: install ## Write the run-time dependencies as a CycloneDX bill of materials: build/deskbridge.cdx.json
	@$(BIN)/python -m deploy.sbom build/deskbridge.cdx.json

wheel: install ## Build the wheel: dist/
	@rm -rf build/lib build/wheel
	@$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir build/wheel .
	@rm -rf dist && mv build/wheel dist

plugin: ## Build the archive of GLPI's plugin, to unpack in plugins/: dist/deskbridge-glpi-plugin-*.tar.gz
	@$(NEW_ENOUGH)
	@$(PYTHON) -m deploy.release plugin

image: wheel ## Build the container image (BASE=, IMAGE=): deploy/container/Dockerfile
	@$(BIN)/python -m deploy.release plugin > /dev/null
	@docker build $(BUILD_FLAGS) $(if $(BASE),--build-arg BASE=$(BASE)) --build-arg VERSION=$$($(BIN)/deskbridge --version | cut -d' ' -f2) \
		--build-arg REVISION=$$(git rev-parse HEAD) --file deploy/container/Dockerfile --tag $(or $(IMAGE),deskbridge:latest) .

deb: wheel ## Build the package for this release of Debian: dist/deskbridge_*.deb
	@$(BIN)/python -m deploy.release plugin > /dev/null
	@deploy/debian/build dist/*.whl $(BIN)/uv

changelog: ## Move the fragments of changelog.d/ into CHANGELOG.md, for a release
	@$(NEW_ENOUGH)
	@$(PYTHON) -m deploy.release changelog

release: install ## Build a release of the last commit, reproducibly: wheel, sdist, .deb, image recipe, chart, GLPI's plugin, SBOM, SHA256SUMS
	@$(BIN)/python -m deploy.release

redmine: ## Install and start a real Redmine (VERSION=5.0|6.0|6.1; Debian or Ubuntu, root); print its address and key
	@deploy/redmine/redmine-up --version $(or $(VERSION),5.0)

test-redmine: install ## Run contract tests and staged failures (or TESTS=) on a real Redmine (VERSION=5.0|6.0|6.1)
	@$(BIN)/python -m pytest $(or $(TESTS),tests/contract tests/failures) --tracker=redmine --redmine=$(or $(VERSION),5.0)

bench: install ## Compare the speed with a plain Celery application (5 minutes); exit 1 if a gate is missed
	@$(BIN)/python -m tests.bench

bench-long: install ## Measure what the gates leave out: a million rows, storms, installations, floors ... (or BENCHES=)
	@failed=0; for bench in $(or $(BENCHES),calls engines floors metadata installations storm backpressure growth console); do \
		$(BIN)/python -m tests.bench.$$bench || failed=1; done; exit $$failed

drill: install ## Run a whole installation under load and faults (SEED=N PROFILE=short|long REDMINE=5.0|6.0|6.1); exit 1 if anything is lost or duplicated
	@$(BIN)/python -m tests.drill $(if $(SEED),--seed $(SEED)) $(if $(REDMINE),--redmine $(REDMINE)) --profile $(or $(PROFILE),short)

fuzz: install ## Send random requests, templates, answers and stored values (SEED=N MINUTES=60); exit 1 if anything fails
	@$(BIN)/python -m tests.fuzz $(if $(SEED),--seed $(SEED)) --minutes $(or $(MINUTES),60)

clean: ## Remove the venv, var/ and all build results
	@rm -rf .venv var build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
