VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
REPORTS := tests/conformance/1.0/documents
DISCLOSURES := $(addprefix $(REPORTS)/,deepseek-r1-zero.json tina.json verl-fully-async.json)

.PHONY: demo tables test check reference oldest mutants lint types docs docs-check bench learning soak coverage wheel clean

demo: $(VENV)/.reference  ## warm start and GRPO on the CPU, then report, validation, replay, table and picture
	@rm -rf demo/run
	OMP_NUM_THREADS=1 $(BIN)/python -m reference_impl.train --seed 0 --minimum-rise 0.4 --output demo/run
	@mv demo/run/report.json demo/run/trace.jsonl demo/ && rmdir demo/run
	$(BIN)/race validate --require-level 3 demo/report.json
	$(BIN)/race replay demo/report.json
	$(BIN)/race render demo/report.json --to latex -o demo/report.tex
	@cat demo/report.tex
	$(BIN)/race plot demo/report.json --figure course -o demo/course.png --force

tables: $(VENV)/.core  ## validate three reports of public disclosures and make their table; needs no training stack
	$(BIN)/race validate $(DISCLOSURES)
	@mkdir -p demo
	$(BIN)/race render $(DISCLOSURES) --to latex -o demo/summary.tex
	@cat demo/summary.tex

test: $(VENV)/.dev  ## run every test that needs no training stack
	$(BIN)/pytest --ignore tests/reference --ignore tests/reference_impl --ignore tests/integrations

check: lint types docs-check test  ## all that must be clean before a commit

reference: $(VENV)/.reference  ## compare with torch, transformers, peft and trl
	OMP_NUM_THREADS=1 PYTHONPATH=. $(BIN)/pytest tests/reference tests/reference_impl tests/integrations

OLDEST := transformers==4.57.1 trl==1.0.0 peft==0.17.0 accelerate==1.11.0

oldest: $(VENV)/.oldest  ## meter TRL under the oldest versions that the extra trl allows, in an environment of their own
	OMP_NUM_THREADS=1 $(VENV)-oldest/bin/pytest tests/integrations

mutants: $(VENV)/.reference  ## change every term of every formula in turn; a test must fail each time
	OMP_NUM_THREADS=1 $(BIN)/python tests/reference/mutate.py

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports

types: $(VENV)/.dev
	$(BIN)/mypy

docs: $(VENV)/.dev  ## write what is generated: the schemas and the tables of SPEC.md
	$(BIN)/python -m race_report.schema_export schema/1.0/race-report.schema.json schema/1.0/trace-record.schema.json
	$(BIN)/cog -r schema/1.0/SPEC.md schema/RULES.md

docs-check: $(VENV)/.dev
	$(BIN)/python -m race_report.schema_export | diff schema/1.0/race-report.schema.json -
	$(BIN)/python -m race_report.schema_export --trace | diff schema/1.0/trace-record.schema.json -
	$(BIN)/cog --check --diff schema/1.0/SPEC.md schema/RULES.md

bench: $(VENV)/.dev  ## measure against check-jsonschema, and race count against race --version; ratios within one run
	$(BIN)/python tests/bench/validate.py
	$(BIN)/python tests/bench/throughput.py
	$(BIN)/python tests/bench/count.py
	OMP_NUM_THREADS=1 $(BIN)/python tests/bench/meter.py

learning: $(VENV)/.reference  ## train from seeds 0, 1 and 2; held-out accuracy must rise by 0.4 from each
	OMP_NUM_THREADS=1 PYTHONPATH=. $(BIN)/python tests/bench/learning.py

soak: $(VENV)/.dev  ## twenty times as many generated documents, journals and kills
	RACE_SOAK=20 $(BIN)/pytest tests/test_engines.py tests/test_trace.py tests/test_meter.py
	@if $(BIN)/python -c 'import trl' 2>/dev/null; then RACE_SOAK=20 $(BIN)/pytest tests/integrations/test_runs.py; else echo 'make reference first: no training stack, no killed runs'; fi

coverage: $(VENV)/.dev  ## lines that the tests run, those in the command itself included
	$(BIN)/pytest --cov=race_report --cov-report=term-missing:skip-covered --cov-fail-under=95 --ignore tests/reference --ignore tests/reference_impl --ignore tests/integrations

wheel: $(VENV)/.dev
	$(BIN)/python -m build

clean:
	rm -rf $(VENV) build dist demo

$(VENV)/.core: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

$(VENV)/.reference: $(VENV)/.dev
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[reference,trl]'
	@touch $@

$(VENV)/.oldest: pyproject.toml
	$(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/pip install --quiet --disable-pip-version-check torch==2.13.0 $(OLDEST) pytest hypothesis -e '.[trl]'
	@mkdir -p $(VENV)
	@touch $@
