# What tests and measures; the Makefile includes it. `make help` lists these targets too, and
# tests/README.md says when to use which.
#
#   T             one test file: make test-server T=test_insert
#   JOBS          how many files and compilers run at a time: as many as there are CPUs
#   (pytest reads PYTEST_ADDOPTS by itself: PYTEST_ADDOPTS='-k some_name' make test-server)

T ?=
JOBS ?= $(shell nproc)
# What was asked for, of programs that there are.
chosen = $(if $(T),$(filter %/$(T),$(1)),$(1))
SANITIZE =
TEST_ENV =

# The stock server knows nothing of a sanitizer, so its runtime must be in the process before the
# module is loaded: the tests put BLOOMPORT_PRELOAD into LD_PRELOAD of the servers they start. There
# it also replaces the server's allocator, which Debian links dynamically, so RedisModule_Alloc is
# checked too. Reports of AddressSanitizer, leaks and races go to files, which run_tests.py looks for;
# UBSan's go to stderr and end the process. Too large an allocation gives NULL, as without it.
ifeq ($(FLAVOUR),asan)
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
TEST_ENV = BLOOMPORT_PRELOAD='$(shell $(CC) -print-file-name=libasan.so)' \
           ASAN_OPTIONS='log_path=$(abspath $(OBJ))/report:allocator_may_return_null=1' \
           UBSAN_OPTIONS=print_stacktrace=1
else ifeq ($(FLAVOUR),tsan)
SANITIZE = -fsanitize=thread
TEST_ENV = BLOOMPORT_PRELOAD='$(shell $(CC) -print-file-name=libtsan.so)' \
           TSAN_OPTIONS='log_path=$(abspath $(OBJ))/report:allocator_may_return_null=1:suppressions=$(abspath tests/support/tsan.supp)'
else ifeq ($(FLAVOUR),fuzz)
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=undefined
FUZZER = -fsanitize=fuzzer
else ifeq ($(FLAVOUR),coverage)
SANITIZE = --coverage -fprofile-update=atomic
COVERAGE = -Wl,--wrap=_exit tests/support/coverage.c
TEST_ENV = BLOOMPORT_COVERAGE=1
else ifeq ($(FLAVOUR),valgrind)
SANITIZE = -DLAZY_ZERO_BYTES=SIZE_MAX
# The server allocates through jemalloc, a library of its own.
TEST_ENV = BLOOMPORT_WRAP='valgrind --quiet --error-exitcode=99 --leak-check=full --show-leak-kinds=definite \
           --errors-for-leak-kinds=definite --soname-synonyms=somalloc=*jemalloc*'
else ifeq ($(FLAVOUR),musl)
# Not Debian's libraries, which are glibc's: those that tests/support/musl.sh has built.
BASE_CFLAGS += -isystem $(OBJ)/root/include
override LDFLAGS += -L$(OBJ)/root/lib
TEST_ENV = CC=$(CC)
endif

# ---- What is installed, before anything is compiled ----
# Each target installs what it uses and no more; plain `make` installs nothing. deps.sh explains the
# words.

WITH_LIBRARIES = test-libraries $(if $(filter-out test_parquet_ids,$(T)),,test-large)
WITH_LINT = lint $(if $(filter release,$(FLAVOUR)),test)
wanted_by = $(if $(filter $(2),$(MAKECMDGOALS)),$(1))
NEEDS = $(call wanted_by,python,release-check) $(call wanted_by,build,study) $(call wanted_by,bench,bench% soak) \
        $(call wanted_by,test,$(TESTING)) $(call wanted_by,libraries,$(WITH_LIBRARIES)) \
        $(call wanted_by,lint,$(WITH_LINT)) $(call wanted_by,tidy,tidy) \
        $(call wanted_by,browser,test-page screenshot) $(call wanted_by,monitoring,test-monitoring) $(call wanted_by,fuzzer,fuzz-run) \
        $(call wanted_by,test arm64,test-arm64) $(call wanted_by,test s390x,test-s390x) \
        $(call wanted_by,valgrind,$(if $(EMULATOR),,bench-instructions)) \
        $(call wanted_by,$(filter gcovr valgrind,$(FLAVOUR:coverage=gcovr)),$(TESTING))
TESTING = test test-unit test-server test-servers test-cli test-docs test-recipes test-page test-large test-interop \
          test-clients test-monitoring test-some test-libraries coverage-run fuzz-server lint tidy
DEPS = $(if $(strip $(NEEDS)),deps-of-goals)
.PHONY: deps-of-goals
deps-of-goals:
	@$(RUN_DEPS) $(NEEDS)

# ---- What is built ----

UNIT      = $(patsubst %.c,$(OBJ)/%,$(wildcard tests/unit/test_*.c))
STUDY     = $(patsubst %.c,$(OBJ)/%,$(wildcard tests/bench/study_*.c))
FUZZ      = $(patsubst %.c,$(OBJ)/%,$(wildcard tests/fuzz/fuzz_*.c))
LARGE     = $(patsubst %.c,$(OBJ)/%,$(wildcard tests/large/*.c))
BENCH     = $(addprefix $(OBJ)/tests/bench/,bench_core bench_merge instructions load read_items)
FLOOR_OBJ = $(OBJ)/tests/bench/floor.o
FLOOR_SO  = $(FLOOR_OBJ:.o=.so)
FAULTS_OBJ = $(OBJ)/tests/server/faults.o
FAULTS_SO = $(OBJ)/faults.so
NEIGHBOUR_OBJ = $(OBJ)/tests/server/neighbour.o
NEIGHBOUR_SO = $(OBJ)/neighbour.so
CLOCK_OBJ = $(OBJ)/tests/support/clock.o
CLOCK_SO = $(OBJ)/clock.so
STILL_OBJ = $(OBJ)/tests/bench/still.o
STILL_SO = $(STILL_OBJ:.o=.so)
# Older versions, where the history has them, a directory each: test_upgrade and test_old_replica.
OLD_DIR = $(if $(filter musl,$(FLAVOUR)),,build)
OLD_VERSIONS = 0.1.0 0.2.0
OLD_CC = cc
FUZZ_SHARED = $(addprefix $(OBJ)/tests/fuzz/,fuzz.o $(if $(FUZZER),,replay.o))
# Compiled by the Makefile's two rules, without redismodule.h and with it.
PURE_PROGRAM_OBJ = $(addsuffix .o,$(UNIT) $(FUZZ) $(LARGE) $(STUDY) $(BENCH)) $(FUZZ_SHARED) $(CLOCK_OBJ) $(STILL_OBJ)
GLUE_TEST_OBJ = $(FLOOR_OBJ) $(FAULTS_OBJ) $(NEIGHBOUR_OBJ)

# The module with an allocator that fails on demand: tests/server/faults.c. The linker wraps calls of
# module.c; link-time optimization, where a user asks for it, would resolve them before.
$(OBJ)/module/module.o $(FAULTS_OBJ): SANITIZE += -fno-lto
$(FAULTS_SO): $(GLUE_OBJ) $(PURE_OBJ) $(FAULTS_OBJ) | $(NEIGHBOUR_SO) $(CLOCK_SO) old-version
	$(SAY) LINK $@
	$(Q)$(CC) $(SANITIZE) $(LDFLAGS) -shared -Wl,--wrap=mem_set_hooks,--wrap=command_table_register -o $@ $^ -lm

# Another module, which shares the server with ours: tests/server/neighbour.c. Whoever needs the
# module above needs this one too. The other is the one that does nothing: tests/bench/floor.c.
$(NEIGHBOUR_SO): $(NEIGHBOUR_OBJ)
$(FLOOR_SO): $(FLOOR_OBJ)
# A clock that tests can move: tests/support/clock.c. No sanitizer: it is in the process before the
# sanitizer's runtime is ready.
$(CLOCK_OBJ) $(CLOCK_SO): SANITIZE =
$(CLOCK_SO): $(CLOCK_OBJ)
# A server that does the same in every run, to count its instructions: tests/bench/still.c.
$(STILL_SO): $(STILL_OBJ)
$(NEIGHBOUR_SO) $(FLOOR_SO) $(CLOCK_SO) $(STILL_SO):
	$(SAY) LINK $@
	$(Q)$(CC) $(SANITIZE) $(LDFLAGS) -shared -o $@ $^

.PHONY: old-version
old-version: | $(REDISMODULE_DIR)/redismodule.h
	@$(if $(OLD_DIR),$(foreach version,$(OLD_VERSIONS),MAKE='$(MAKE)' CC='$(OLD_CC)' \
	    sh tests/support/old_version.sh $(version) $(OLD_DIR) $(REDISMODULE_DIR) &&)) :

# libFuzzer is guided by the code under test alone, and not by arithmetic and loops over bits; nor by
# each comparison, which costs half the speed: the corpus has the magic numbers.
$(if $(FUZZER),$(filter-out %/rate.o %/sizing.o %/layer.o %/blocked.o,$(PURE_OBJ) $(TOOL_OBJ)): SANITIZE += $(FUZZER)-no-link -fno-sanitize-coverage=trace-cmp)

$(UNIT): LIBRARIES = -lcmocka
$(addprefix $(OBJ)/tests/fuzz/,fuzz_items fuzz_file): $(addprefix $(OBJ)/rdb/tool/,items.o decoder.o file.o output.o recognise.o sst.o progress.o threads.o)
$(OBJ)/tests/fuzz/fuzz_sst: $(OBJ)/rdb/tool/sst.o
$(FUZZ): $(FUZZ_SHARED)
$(FUZZ): LIBRARIES = $(FUZZER) $(if $(filter %/fuzz_items %/fuzz_file,$@),$(DECODERS))
$(OBJ)/tests/bench/read_items: $(addprefix $(OBJ)/rdb/tool/,items.o decoder.o threads.o)
$(OBJ)/tests/bench/read_items: LIBRARIES = $(DECODERS)
$(UNIT) $(FUZZ) $(STUDY) $(LARGE) $(BENCH): $(OBJ)/%: $(OBJ)/%.o $(PURE_OBJ)
	$(SAY) LINK $@
	$(Q)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(LIBRARIES) -lm

.PHONY: check-machine check-layers
# What module/core/hash/hash.h refuses, as its one sentence instead of a compiler's page.
check-machine: | $(DEPS)
	@refusal=$$($(CC) $(CFLAGS) -I. -E -x c module/core/hash/hash.h 2>&1 >/dev/null | sed -nE 's/.*error: (#error )?"(.*64-bit.*)"$$/\2/p'); \
	test -z "$$refusal" || { echo "$$refusal" >&2; exit 1; }

# One sentence here too. Looked for once, before the first file is compiled.
HEADERS_OF_TOOL = hiredis/hiredis.h:libhiredis-dev openssl/ssl.h:libssl-dev zlib.h:zlib1g-dev zstd.h:libzstd-dev lzma.h:liblzma-dev
$(OBJ)/headers-of-module $(OBJ)/headers-of-tool: $(OBJ)/headers-of-%: | $(DEPS)
	@sh tests/support/headers.sh $* '$(CC) $(filter-out -M%,$(BASE_CFLAGS)) $(CFLAGS)' \
	    stdio.h:libc6-dev xxhash.h:libxxhash-dev $(if $(filter tool,$*),$(HEADERS_OF_TOOL))
	@mkdir -p $(@D) && touch $@
$(TOOL_OBJ): | $(OBJ)/headers-of-tool
$(PURE_OBJ) $(GLUE_OBJ): | $(OBJ)/headers-of-module

# The allowed directions are core -> rdb -> module. The include path alone cannot see a glue header
# that happens not to include redismodule.h, nor one reached by "../".
INCLUDE = ^[[:space:]]*\#[[:space:]]*include[[:space:]]*[<"]
GLUE_HEADER = .*redismodule\.h|.*\.\./|module/[^/]*$$
check-layers:
	@! grep -nE '$(INCLUDE)($(GLUE_HEADER)|rdb/)' $(wildcard $(CORE_DIRS:%=%/*.[ch])) /dev/null || \
	    { echo "module/core may include only module/core and the C library" >&2; exit 1; }
	@! grep -nE '$(INCLUDE)($(GLUE_HEADER))' $(wildcard rdb/*.[ch] rdb/formats/*.[ch] rdb/tool/*.[ch]) /dev/null || \
	    { echo "rdb may include only rdb, module/core and the C library" >&2; exit 1; }
	@! grep -nE '\b(malloc|calloc|realloc)\(' $(filter-out module/core/mem.c,$(wildcard $(PURE_DIRS:%=%/*.[ch]))) || \
	    { echo "pure code allocates through module/core/mem.h" >&2; exit 1; }
	@! grep -nE 'GetServerVersion|ValkeyModule_' $(filter-out module/server.c,$(wildcard module/*.[ch])) || \
	    { echo "only module/server.c asks which server this is" >&2; exit 1; }

# ---- Tests ----

RUN_TESTS = $(TEST_ENV) BLOOMPORT_SO='$(abspath $(SO))' BLOOMPORT_TOOL='$(abspath $(or $(STARTED_TOOL),$(TOOL)))' \
            BLOOMPORT_FAULTS_SO='$(abspath $(FAULTS_SO))' BLOOMPORT_NEIGHBOUR_SO='$(abspath $(NEIGHBOUR_SO))' \
            BLOOMPORT_CLOCK_SO='$(abspath $(CLOCK_SO))' BLOOMPORT_OLD_DIR='$(abspath $(OLD_DIR))' REDIS_SERVER='$(REDIS_SERVER)' \
            BLOOMPORT_LINT_FLAGS='$(BASE_CFLAGS) -isystem $(REDISMODULE_DIR)' \
            $(PYTHON) tests/support/run_tests.py --out $(OBJ) --jobs $(JOBS)
# The sources are the same under every sanitizer.
QUICK = tests/server tests/cli tests/recipes tests/docs tests/support \
        $(if $(filter release,$(FLAVOUR)),tests/lint/test_lint.py)

.PHONY: built-for-test lint tidy test-unit test-server test-servers test-docs test-cli test-recipes test-page test-libraries test-monitoring \
        test-large test-damaged test-interop test-clients test-fresh screenshot asan tsan valgrind test-some coverage coverage-run fuzz fuzz-run fuzz-server
built-for-test: $(SO) $(FAULTS_SO) $(TOOL) $(UNIT) $(FUZZ)

lint: | $(DEPS) ## cppcheck, shellcheck, ruff (part of make test)
	@$(RUN_TESTS) --server tests/lint/test_lint.py

tidy: | $(REDISMODULE_DIR)/redismodule.h $(DEPS) ## clang-tidy and clang-format of Debian 12: minutes the first time, then what changed
	@$(RUN_TESTS) --server tests/lint/test_tidy.py

test-unit: $(call chosen,$(UNIT) $(FUZZ)) | $(DEPS) ## the pure code and the fuzz corpus, no server needed: T=test_sizing for one program
	@$(RUN_TESTS) --unit $(call chosen,$(UNIT) $(FUZZ))

test-server: $(SO) $(FAULTS_SO) | $(DEPS) ## the module in a real server: T=test_insert for one file
	@$(RUN_TESTS) --server tests/server$(if $(T),/$(T).py)

# SERVER="redis-8.0 valkey-9" for some of them; REDIS_SERVER has no say.
test-servers: $(SO) $(FAULTS_SO) | $(DEPS) ## the server tests on Redis 7.0, 8.0, Valkey 8.0, 8.1, 9 of Debian: SERVER= T= JOBS=
	@$(TEST_ENV) BLOOMPORT_SO='$(abspath $(SO))' BLOOMPORT_FAULTS_SO='$(abspath $(FAULTS_SO))' \
	    BLOOMPORT_NEIGHBOUR_SO='$(abspath $(NEIGHBOUR_SO))' BLOOMPORT_CLOCK_SO='$(abspath $(CLOCK_SO))' \
	    BLOOMPORT_OLD_DIR='$(abspath $(OLD_DIR))' $(PYTHON) tests/support/servers.py --only $(SERVER) --test '$(T)' --jobs $(JOBS)

test-cli: $(SO) $(TOOL) | $(DEPS) ## the command-line tool, with a real server for push and pull: T=test_push for one file
	@$(RUN_TESTS) --server tests/cli$(if $(T),/$(T).py)

test-docs: $(SO) $(TOOL) | $(DEPS) ## every example of the documents, and what they say of the commands
	@$(RUN_TESTS) --server tests/docs$(if $(T),/$(T).py)

test-recipes: $(SO) | $(CLOCK_SO) $(DEPS) ## the recipes of module/docs/RECIPES.md, run as they stand
	@$(RUN_TESTS) --server tests/recipes$(if $(T),/$(T).py)

test-libraries: $(SO) | $(DEPS) ## libleveldb, Parquet files, pandas, Polars: downloads 500 MB
	@$(RUN_TESTS) --server tests/libraries

test-page: page $(SO) $(TOOL) | $(DEPS) ## the page: its numbers, under node, and all of it in headless Chromium
	@$(RUN_TESTS) --server tests/page

test-monitoring: $(SO) | $(DEPS) ## Debian's Prometheus and redis_exporter, unpacked, on a server: dashboard, alert rules
	@$(RUN_TESTS) --server tests/monitoring

screenshot: page | $(DEPS) ## the picture of the README, module/docs/page.png, taken of the page in headless Chromium
	@$(PYTHON) -B tests/support/screenshot.py build/page/index.html module/docs/page.png

test-large: $(SO) $(TOOL) $(call chosen,$(LARGE)) | $(DEPS) ## slow tests and those that need gigabytes: T=large_rate for one
	@set -e; for program in $(call chosen,$(LARGE)); do $$program; done
	@$(if $(filter %/$(T),$(LARGE)),:,$(RUN_TESTS) --server tests/large$(if $(T),/$(T).py))

test-damaged: ## every damaged variant of RedisBloom's, valkey-bloom's and other libraries' files, under the sanitizers
	@$(MAKE) --no-print-directory FLAVOUR=asan CC=gcc test-large T=test_damaged_dumps

test-interop: $(SO) $(TOOL) | $(DEPS) ## other languages and libraries read and write our filters, toolchains installed: T=go for one
	@$(RUN_DEPS) interop
	@$(TEST_ENV) BLOOMPORT_SO='$(abspath $(SO))' BLOOMPORT_TOOL='$(abspath $(TOOL))' REDIS_SERVER='$(REDIS_SERVER)' \
	    $(PYTHON) tests/interop/run.py $(T)

test-clients: $(SO) | $(DEPS) ## real clients, every BF.* method each has, toolchains installed: T=go-redis for one
	@$(RUN_DEPS) clients
	@$(TEST_ENV) BLOOMPORT_SO='$(abspath $(SO))' REDIS_SERVER='$(REDIS_SERVER)' \
	    $(PYTHON) tests/clients/run.py $(T)
	@$(RUN_TESTS) --server tests/docs/test_snippets.py tests/docs/test_bulk_snippets.py

# gcc: its sanitizer runtime is a shared library that can be preloaded as it stands.
asan: ## `make test` under AddressSanitizer and UBSan; any report is a failure
	@$(MAKE) --no-print-directory FLAVOUR=asan CC=gcc test

test-fresh: ## make run and make test on an empty Debian 12 and 13, with PyPI and without; needs root: RELEASE=trixie PYPI=no
	@$(RUN_DEPS) debs
	@$(PYTHON) -B tests/support/try_fresh.py build/fresh --jobs $(JOBS) $(RELEASE:%=--release %) $(PYPI:%=--pypi %)

# A selection: all of it would take hours under valgrind, and most of it has but one thread.
SOME_UNIT = $(filter-out %/test_rates %/test_scheme_rates %/test_sizing %/test_statistics,$(UNIT)) $(FUZZ)
SOME_SERVER = background every_command faults fuzz growth import loadchunk memory small_filters
test-some: $(SO) $(FAULTS_SO) $(TOOL) $(SOME_UNIT) | $(DEPS)
	@$(RUN_TESTS) --unit $(SOME_UNIT) --server $(SOME_SERVER:%=tests/server/test_%.py) $(if $(filter tsan,$(FLAVOUR)),tests/cli)

tsan: ## unit tests, some server tests and the tool under ThreadSanitizer: background free, counters
	@$(MAKE) --no-print-directory FLAVOUR=tsan CC=gcc test-some

valgrind: ## unit tests and some server tests under valgrind: errors and leaks
	@$(MAKE) --no-print-directory FLAVOUR=valgrind test-some

# SECONDS= or RUNS= for each target, 60 s by default; what is found goes to build/fuzz/.
fuzz: ## libFuzzer with AddressSanitizer and UBSan on tests/fuzz: T=fuzz_record SECONDS=60 RUNS=1000000
	@$(MAKE) --no-print-directory FLAVOUR=fuzz CC=clang fuzz-run

fuzz-run: $(call chosen,$(FUZZ)) | $(DEPS)
	@sh tests/support/fuzz.sh $(OBJ) '$(RUNS)' '$(SECONDS)' $^

fuzz-server: $(SO) $(FAULTS_SO) | $(DEPS) ## mutated RESTOREs, chunks, imports and words on a real server: RUNS= SEED= FLAVOUR=asan
	@PYTEST_ADDOPTS='-s' BLOOMPORT_FUZZ_RUNS='$(or $(RUNS),20000)' BLOOMPORT_FUZZ_SEED='$(SEED)' \
	    $(RUN_TESTS) --server tests/server/test_fuzz.py

##@ Measure it
.PHONY: bench bench-plot bench-core bench-distances bench-instructions bench-tool bench-merge study soak
# SERVER=redis-8.0: one of the servers of test-servers, and not REDIS_SERVER.
CHOSEN_SERVER = $(if $(SERVER),$$($(PYTHON) tests/support/servers.py --fetch --only $(SERVER) | tail -n 1),$(REDIS_SERVER))
# N=, ROUNDS=, SECONDS=, ROWS=, SIZES= and PEER= reach it as environment; see tests/bench/bench.py.
RUN_BENCH = BLOOMPORT_SO='$(abspath $(SO))' BENCH_BUILT='$(abspath $(OBJ))/tests/bench' \
            BLOOMPORT_CLOCK_SO='$(abspath $(CLOCK_SO))' REDIS_SERVER="$(CHOSEN_SERVER)" $(PYTHON) tests/bench/bench.py
bench: $(SO) $(BENCH) $(FLOOR_SO) | $(CLOCK_SO) $(DEPS) ## CPU per item against doing nothing, and PEER=other.so: N= ROUNDS= SERVER= ROWS= (typical: small and grown filters)
	@$(RUN_BENCH)

bench-plot: $(SO) $(BENCH) $(FLOOR_SO) | $(DEPS) ## measure speed against filter size, draw tests/bench/speed.svg: SIZES="256K 1G"
	@$(RUN_BENCH) --plot

bench-core: $(BENCH) | $(DEPS) ## the core alone, no server: ROUNDS= SIZES=
	@$(OBJ)/tests/bench/bench_core $(or $(ROUNDS),7) $(SIZES)

# Ours first; a quiet machine. What is best depends on how many cache lines the CPU can wait for.
DISTANCES = 8,3 4,3 16,3 8,2 8,5
bench-distances: | $(DEPS) ## other prefetch distances than 8 items and 3 lines each, for another CPU: DISTANCES="16,3" SIZES=
	@set -e; for pair in $(DISTANCES); do \
	    echo "$${pair%,*} items, $${pair#*,} lines each:"; \
	    $(MAKE) -s --no-print-directory FLAVOUR=distance-$$pair bench-core SIZES='$(or $(SIZES),238M)' \
	        CFLAGS="$(CFLAGS) -DPROBE_ITEMS=$${pair%,*} -DFIRST_HASHES=$${pair#*,}" | grep '^|.*batch'; done

# ROWS=typical counts those of a real server under callgrind, PEER= beside it.
COUNTS_SERVER = $(filter typical,$(ROWS))
bench-instructions: $(BENCH) $(if $(COUNTS_SERVER),$(SO) $(STILL_SO)) | $(DEPS) ## instructions per item of BLOCKED, plain C against AVX2 or NEON; ROWS=typical: of a server's commands, PEER= SERVER=
	@$(if $(COUNTS_SERVER),BLOOMPORT_SO='$(abspath $(SO))' BENCH_STILL_SO='$(abspath $(STILL_SO))' REDIS_SERVER="$(CHOSEN_SERVER)" \
	    $(PYTHON) tests/bench/typical_instructions.py,$(PYTHON) tests/bench/instructions.py $(OBJ)/tests/bench/instructions $(EMULATOR))

bench-tool: $(TOOL) $(BENCH) | $(DEPS) ## `bloomport build` against reading and hashing the file; memory of check: N= ROUNDS=
	@$(PYTHON) tests/bench/tool.py $(abspath $(TOOL)) $(abspath $(OBJ))/tests/bench/read_items

bench-merge: $(BENCH) | $(DEPS) ## two filters of 1 GB united, against reading and copying memory: ROUNDS=
	@$(OBJ)/tests/bench/bench_merge $(or $(ROUNDS),7)

study: $(call chosen,$(STUDY)) | $(DEPS) ## build and run the experiments of tests/bench/study_*.c: T=study_chosen for one
	@set -e; for program in $(call chosen,$(STUDY)); do $$program; done

# MINUTES=, SEED= and SERVER=valkey-9, one of those of test-servers.
soak: $(SO) $(TOOL) | $(CLOCK_SO) $(DEPS) ## a mixed load with every answer checked, saves, evictions, restarts, a replica: MINUTES= SERVER=
	@$(TEST_ENV) BLOOMPORT_SO='$(abspath $(SO))' BLOOMPORT_TOOL='$(abspath $(TOOL))' MINUTES='$(MINUTES)' SEED='$(SEED)' \
	    REDIS_SERVER="$(CHOSEN_SERVER)" \
	    $(PYTHON) -B tests/soak/soak.py

coverage: ## `make test` with every line of module/ and rdb/ counted; prints the lines that were not run
	@$(MAKE) --no-print-directory FLAVOUR=coverage CC=gcc CFLAGS='-O1 -g' coverage-run

coverage-run: $(SO) $(FAULTS_SO) $(TOOL) $(UNIT) $(FUZZ) | $(DEPS)
	@find $(OBJ) -name '*.gcda' -delete
	@$(RUN_TESTS) --unit $(UNIT) $(FUZZ) --server $(QUICK)
	@gcovr --root . --object-directory $(OBJ) --filter 'module/' --filter 'rdb/' --txt --fail-under-line 95
