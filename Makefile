# `make demo` shows the main job, `make up` runs the system, `make test` and `make check` prove it.
# Every path here is relative, because Make cannot handle the spaces of an absolute one.

PYTHON ?=
ARGS ?=
MODEL ?=
FULL ?=
ONLY ?=
PEERS ?=
PROFILE ?=
SEEDS ?= 200

.DEFAULT_GOAL := help
.PHONY: help demo up test independent check coverage-of-spec crash bench sim clean
.NOTPARALLEL:

# An interpreter given by hand gets an environment of its own beside the usual one.
VENV := $(if $(PYTHON),.venvs/$(notdir $(PYTHON)),.venv)
RUN := $(VENV)/bin/python
# Hands alone: no Django, no Brain.
HANDS_VENV := .venvs/hands$(if $(PYTHON),-$(notdir $(PYTHON)))
# What we are measured beside wants other versions of what we use.
PEERS_VENV := .venvs/peers

help:
	@echo 'make demo     the main job: a Turn survives the death of its worker'
	@echo 'make up       run the embedded system (FULL=1: on a private PostgreSQL and Redis)'
	@echo 'make test     the whole suite (ARGS="-k lease", PYTHON=python3.13)'
	@echo 'make independent   the Hands house alone in an environment of its own, and its tests there'
	@echo 'make check    style, types, imports, architecture'
	@echo 'make coverage-of-spec   which test holds which requirement (ARGS="--open", "--cases")'
	@echo 'make crash    kill Brains at each place (ARGS="--rounds 5 --sqlite", --hands: Hands)'
	@echo 'make bench    measure (ONLY=w1,w3, ARGS=--quick, PEERS=1: others too, PROFILE=1: why)'
	@echo 'make sim      play seeds of the simulation (SEEDS=2000, ARGS=--postgres)'
	@echo 'make clean    remove environments, caches and local state'

demo: $(VENV)/product.stamp
	@DURABLE_DEMO_MODEL='$(MODEL)' $(RUN) manage.py durable_demo $(ARGS)

up: $(VENV)/$(if $(FULL),everything,product).stamp
	@FULL='$(FULL)' $(RUN) manage.py durable_up $(ARGS)

test: $(VENV)/everything.stamp $(HANDS_VENV)/hands.stamp
	@DURABLE_TEST_HANDS='$(HANDS_VENV)/bin/python' $(RUN) -m tests.run $(ARGS)

independent: $(HANDS_VENV)/hands.stamp
	@$(HANDS_VENV)/bin/python -m tests.independent '$(HANDS_VENV)/bin/python' -q -n 2 $(ARGS)

check: $(VENV)/everything.stamp
	@$(RUN) -m tests.architecture $(ARGS)

coverage-of-spec: $(VENV)/everything.stamp
	@$(RUN) -m tests.spec $(ARGS)

crash: $(VENV)/everything.stamp
	@$(RUN) -m tests.crash $(ARGS)

bench: $(VENV)/everything.stamp $(if $(PEERS),$(PEERS_VENV)/peers.stamp)
	@$(RUN) -m tests.benchmarks --only '$(ONLY)' $(if $(PROFILE),--profile) \
		$(if $(PEERS),--peers $(PEERS_VENV)/bin/python) $(ARGS)
sim: $(VENV)/everything.stamp
	@$(RUN) -m tests.simulation --seeds '$(SEEDS)' $(ARGS)

# Root's PostgreSQL cannot live in a private folder: its data are behind a link.
clean:
	@if [ -L var/postgres/data ]; then rm -rf "$$(readlink var/postgres/data)"; fi
	@rm -rf .venv .venvs var .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/product.stamp: requirements.txt
	@.ci/environment '$(VENV)' requirements.txt '$(PYTHON)'
	@touch $@

$(VENV)/everything.stamp: requirements.txt requirements-dev.txt
	@.ci/environment '$(VENV)' requirements-dev.txt '$(PYTHON)'
	@touch $@ $(VENV)/product.stamp

# Made anew whenever what it has to hold changes, so that nothing of before is left in it.
$(HANDS_VENV)/hands.stamp: requirements-independent.txt hands_app/requirements.txt
	@rm -rf '$(HANDS_VENV)'
	@.ci/environment '$(HANDS_VENV)' requirements-independent.txt '$(PYTHON)'
	@touch $@

# A package that cannot be had costs its own engine alone, which the table then names.
$(PEERS_VENV)/peers.stamp: requirements-peers.txt
	@.ci/environment '$(PEERS_VENV)' requirements-peers.txt '$(PYTHON)' \
		|| sed 's/ *#.*//' requirements-peers.txt \
		| xargs -n 1 '$(PEERS_VENV)/bin/python' -m pip install --quiet || true
	@npm install --silent --prefix '$(PEERS_VENV)' @restatedev/restate-server@1.7.12 || true
	@touch $@
