# bloomport: every build, test and try-out starts here. `make help` lists the targets.
#
#   FLAVOUR       release (default), asan, fuzz...; objects live in build/<flavour>/ and never mix
#   CI            if set, warnings are errors
#   T             one test file: make test-server T=test_insert
#   (pytest reads PYTEST_ADDOPTS by itself: PYTEST_ADDOPTS='-k some_name' make test-server)

CC      ?= cc
CFLAGS  ?= -O2 -g
LDFLAGS ?=
# Debian's own interpreter: python3-pytest and python3-redis install for that one, and another
# python3 may come first in PATH.
PYTHON       ?= /usr/bin/python3
REDIS_SERVER ?= redis-server
CLANG_FORMAT ?= clang-format
PORT         ?= 6379
ARGS         ?=
T            ?=
FLAVOUR      ?= release
# Debian's redis-server may execute what is under /usr/lib, and nothing under /usr/local.
PREFIX       ?= /usr/local
MODULE_DIR   ?= $(PREFIX)/lib/redis/modules

# Where redismodule.h is: named by the user, else installed, else fetched by `make deps`.
REDISMODULE_DIR ?= $(patsubst %/,%,$(dir $(firstword $(wildcard \
    /usr/local/include/redismodule.h /usr/include/redismodule.h) build/include/redismodule.h)))

OBJ = build/$(FLAVOUR)
BASE_CFLAGS = -std=c11 -I. -fPIC -fvisibility=hidden -MMD -MP \
              -ffp-contract=off -Wall -Wextra -Wshadow -Wconversion -Wvla $(if $(CI),-Werror)

# The release alone is built where a user looks for it.
BUILT = $(if $(filter release,$(FLAVOUR)),build,$(OBJ))
SO = $(BUILT)/bloomport.so
TOOL = $(BUILT)/bloomport
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
           TSAN_OPTIONS='log_path=$(abspath $(OBJ))/report:allocator_may_return_null=1'
else ifeq ($(FLAVOUR),fuzz)
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=undefined
FUZZER = -fsanitize=fuzzer
MORE_DEPS = fuzzer
else ifeq ($(FLAVOUR),coverage)
SANITIZE = --coverage -fprofile-update=atomic
COVERAGE = -Wl,--wrap=_exit tests/tools/coverage.c
TEST_ENV = BLOOMPORT_COVERAGE=1
MORE_DEPS = gcovr
else ifeq ($(FLAVOUR),valgrind)
MORE_DEPS = valgrind
SANITIZE = -DLAZY_ZERO_BYTES=SIZE_MAX
# The server allocates through jemalloc, a library of its own.
TEST_ENV = BLOOMPORT_WRAP='valgrind --quiet --error-exitcode=99 --leak-check=full --show-leak-kinds=definite \
           --errors-for-leak-kinds=definite --soname-synonyms=somalloc=*jemalloc*'
endif

# Sources by wildcard, so that no file can be forgotten.
PURE_OBJ  = $(patsubst %.c,$(OBJ)/%.o,$(wildcard module/core/*.c rdb/*.c))
TOOL_OBJ  = $(patsubst %.c,$(OBJ)/%.o,$(wildcard rdb/tool/*.c))
GLUE_OBJ  = $(patsubst %.c,$(OBJ)/%.o,$(wildcard module/*.c))
UNIT      = $(patsubst %.c,$(OBJ)/%,$(wildcard tests/unit/test_*.c))
STUDY     = $(patsubst %.c,$(OBJ)/%,$(wildcard tests/bench/study_*.c))
FUZZ      = $(patsubst %.c,$(OBJ)/%,$(wildcard tests/fuzz/fuzz_*.c))
LARGE     = $(patsubst %.c,$(OBJ)/%,$(wildcard tests/large/*.c))
BENCH     = $(addprefix $(OBJ)/tests/bench/,bench_core bench_merge load read_items)
FLOOR_OBJ = $(OBJ)/tests/bench/floor.o
FAULTS_OBJ = $(OBJ)/tests/server/faults.o
FAULTS_SO = $(OBJ)/faults.so
NEIGHBOUR_OBJ = $(OBJ)/tests/server/neighbour.o
NEIGHBOUR_SO = $(OBJ)/neighbour.so

# run, test and asan install what is missing before anything is compiled; plain `make` never does.
DEPS = $(if $(filter test% asan fuzz% coverage% study bench%,$(MAKECMDGOALS)),deps,$(if $(filter run,$(MAKECMDGOALS)),deps-run))
RUN_DEPS = CC='$(CC)' PYTHON='$(PYTHON)' REDIS_SERVER='$(REDIS_SERVER)' \
           REDISMODULE_DIR='$(REDISMODULE_DIR)' sh tests/tools/deps.sh
RUN_TESTS = $(TEST_ENV) BLOOMPORT_SO='$(abspath $(SO))' BLOOMPORT_TOOL='$(abspath $(TOOL))' \
            BLOOMPORT_FAULTS_SO='$(abspath $(FAULTS_SO))' BLOOMPORT_NEIGHBOUR_SO='$(abspath $(NEIGHBOUR_SO))' \
            REDIS_SERVER='$(REDIS_SERVER)' \
            $(PYTHON) tests/tools/run_tests.py --out $(OBJ)

.PHONY: all run deps deps-run test test-all test-unit test-server test-tool test-recipes page test-page test-large test-damaged test-interop asan study bench bench-plot bench-core bench-merge \
        check-layers format clean help
.DELETE_ON_ERROR:
.SECONDARY:

all: $(SO) $(TOOL) ## build build/bloomport.so and the tool build/bloomport (the default)

.PHONY: install uninstall deb test-deb test-docs deps-deb deps-test-deb
INSTALLED = $(MODULE_DIR)/bloomport.so $(PREFIX)/bin/bloomport $(PREFIX)/share/man/man1/bloomport.1 \
            $(PREFIX)/share/doc/bloomport/examples/bloomport.conf
install: all ## install the module, the tool and its man page: PREFIX=/usr/local MODULE_DIR= DESTDIR=
	install -D -m 755 $(SO) $(DESTDIR)$(MODULE_DIR)/bloomport.so
	install -D -m 755 $(TOOL) $(DESTDIR)$(PREFIX)/bin/bloomport
	install -D -m 644 rdb/tool/bloomport.1 $(DESTDIR)$(PREFIX)/share/man/man1/bloomport.1
	install -D -m 644 module/package/bloomport.conf $(DESTDIR)$(PREFIX)/share/doc/bloomport/examples/bloomport.conf
	sed -i 's|/usr/lib/redis/modules|$(MODULE_DIR)|' $(DESTDIR)$(PREFIX)/share/doc/bloomport/examples/bloomport.conf

uninstall: ## remove what `make install` installed: the same PREFIX= MODULE_DIR= DESTDIR=
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	rmdir --ignore-fail-on-non-empty $(addprefix $(DESTDIR),$(MODULE_DIR) $(PREFIX)/share/doc/bloomport/examples $(PREFIX)/share/doc/bloomport)

deb: | deps-deb ## build/deb/bloomport_<version>_<arch>.deb: all that as a Debian package
	@MAKE='$(MAKE)' sh module/package/deb.sh build/deb

test-deb: deb | deps-test-deb ## install the package on a fresh Debian as the documents say, use it, remove it; needs root
	@sh tests/tools/test_deb.sh build/deb

run: $(SO) | deps-run ## install what is missing, build, start a server with the module: PORT= ARGS=
	@mkdir -p build/run
	@echo "bloomport is starting on port $(PORT), data in build/run, Ctrl-C ends it. Type next, in another terminal:"
	@echo "  redis-cli -p $(PORT) BF.RESERVE visitors 0.01 1000000"
	@echo "  redis-cli -p $(PORT) BF.ADD visitors alice"
	@echo "  redis-cli -p $(PORT) BF.EXISTS visitors alice"
	@# loadmodule last: ARGS may hold module arguments, server options (--maxmemory 1gb), or both.
	@exec $(REDIS_SERVER) --port $(PORT) --dir build/run --loadmodule $(abspath $(SO)) $(ARGS)

deps: ## install what building and testing need (Debian), get redismodule.h; says what it does
	@$(RUN_DEPS) test $(MORE_DEPS)

deps-run deps-deb deps-test-deb:
	@$(RUN_DEPS) $(@:deps-%=%)

QUICK = tests/server tests/tool tests/recipes tests/page/test_numbers.py tests/docs tests/tools
test: $(SO) $(FAULTS_SO) $(TOOL) $(UNIT) $(FUZZ) | deps ## install what is missing, run every quick test; ends in "N passed, N failed"
	@$(RUN_TESTS) --unit $(UNIT) $(FUZZ) --server $(QUICK)

test-all: | deps ## every test target, one after another, and one table: ONLY="test-page test-deb" for some
	@$(PYTHON) tests/tools/run_all.py --make '$(MAKE)' $(ONLY)

test-unit: $(UNIT) $(FUZZ) | deps ## the pure code and the fuzz corpus, no server needed: T=test_sizing for one program
	@$(RUN_TESTS) --unit $(if $(T),$(filter %/$(T),$(UNIT) $(FUZZ)),$(UNIT) $(FUZZ))

test-server: $(SO) $(FAULTS_SO) | deps ## the module in a real server: T=test_insert for one file
	@$(RUN_TESTS) --server tests/server$(if $(T),/$(T).py)

test-docs: $(SO) $(TOOL) | deps ## every example of the documents, and what they say of the commands
	@$(RUN_TESTS) --server tests/docs

test-tool: $(SO) $(TOOL) | deps ## the command-line tool, with a real server for push and pull
	@$(RUN_TESTS) --server tests/tool

page: | $(DEPS) ## the calculator and viewer as one file, build/page/index.html: open it in a browser
	@$(PYTHON) tests/tools/make_page.py module/page/index.html build/page/index.html

.PHONY: screenshot
screenshot: page ## the picture of the README, module/docs/page.png, taken of the page in headless Chromium
	@$(RUN_DEPS) page
	@$(PYTHON) -B tests/tools/screenshot.py build/page/index.html module/docs/page.png

test-page: page $(SO) $(TOOL) | deps ## the page in headless Chromium, which it installs
	@$(RUN_DEPS) page
	@$(RUN_TESTS) --server tests/page

test-recipes: $(SO) | deps ## the recipes of module/docs/RECIPES.md, run as they stand
	@$(RUN_TESTS) --server tests/recipes

test-large: $(SO) $(TOOL) $(LARGE) | deps ## slow tests and those that need gigabytes: T=large_rate for one
	@set -e; for program in $(if $(T),$(filter %/$(T),$(LARGE)),$(LARGE)); do $$program; done
	@$(if $(filter %/$(T),$(LARGE)),:,$(RUN_TESTS) --server tests/large$(if $(T),/$(T).py))

test-damaged: ## every damaged variant of RedisBloom's recorded dumps, under the sanitizers
	@$(MAKE) --no-print-directory FLAVOUR=asan CC=gcc test-large T=test_damaged_dumps

test-interop: $(SO) | deps ## other languages read and write our filters, toolchains installed: T=go for one
	@$(RUN_DEPS) interop
	@$(TEST_ENV) BLOOMPORT_SO='$(abspath $(SO))' REDIS_SERVER='$(REDIS_SERVER)' \
	    $(PYTHON) tests/interop/run.py $(T)

.PHONY: test-clients
test-clients: $(SO) | deps ## real clients, every BF.* method each has, toolchains installed: T=go-redis for one
	@$(RUN_DEPS) clients
	@$(TEST_ENV) BLOOMPORT_SO='$(abspath $(SO))' REDIS_SERVER='$(REDIS_SERVER)' \
	    $(PYTHON) tests/clients/run.py $(T)
	@$(RUN_TESTS) --server tests/docs/test_snippets.py

# gcc: its sanitizer runtime is a shared library that can be preloaded as it stands.
asan: ## `make test` under AddressSanitizer and UBSan; any report is a failure
	@$(MAKE) --no-print-directory FLAVOUR=asan CC=gcc test

.PHONY: tsan valgrind test-some coverage coverage-run fuzz fuzz-run fuzz-server

# A selection: all of it would take hours under valgrind, and most of it has but one thread.
SOME_UNIT = $(filter-out %/test_rates %/test_sizing %/test_statistics,$(UNIT)) $(FUZZ)
SOME_SERVER = background every_command faults fuzz growth import loadchunk memory small_filters
test-some: $(SO) $(FAULTS_SO) $(TOOL) $(SOME_UNIT) | deps
	@$(RUN_TESTS) --unit $(SOME_UNIT) --server $(SOME_SERVER:%=tests/server/test_%.py) $(if $(filter tsan,$(FLAVOUR)),tests/tool)

tsan: ## unit tests, some server tests and the tool under ThreadSanitizer: background free, counters
	@$(MAKE) --no-print-directory FLAVOUR=tsan CC=gcc test-some

valgrind: ## unit tests and some server tests under valgrind: errors and leaks
	@$(MAKE) --no-print-directory FLAVOUR=valgrind test-some

coverage: ## `make test` with every line of module/ and rdb/ counted; prints the lines that were not run
	@$(MAKE) --no-print-directory FLAVOUR=coverage CC=gcc CFLAGS='-O1 -g' coverage-run

coverage-run: $(SO) $(FAULTS_SO) $(TOOL) $(UNIT) $(FUZZ) | deps
	@find $(OBJ) -name '*.gcda' -delete
	@$(RUN_TESTS) --unit $(UNIT) $(FUZZ) --server $(QUICK)
	@gcovr --root . --object-directory $(OBJ) --filter 'module/' --filter 'rdb/' --txt --fail-under-line 95

# SECONDS= (default 60) or RUNS= for each target; inputs that it finds go to build/fuzz/.
fuzz: ## libFuzzer with AddressSanitizer and UBSan on tests/fuzz: T=fuzz_record SECONDS=60 RUNS=1000000
	@$(MAKE) --no-print-directory FLAVOUR=fuzz CC=clang fuzz-run

fuzz-run: $(if $(T),$(filter %/$(T),$(FUZZ)),$(FUZZ)) | deps
	@sh tests/tools/fuzz.sh $(OBJ) '$(RUNS)' '$(SECONDS)' $^

fuzz-server: $(SO) $(FAULTS_SO) | deps ## mutated RESTOREs, chunks, imports and words on a real server: RUNS= SEED= FLAVOUR=asan
	@PYTEST_ADDOPTS='-s' BLOOMPORT_FUZZ_RUNS='$(or $(RUNS),20000)' BLOOMPORT_FUZZ_SEED='$(SEED)' \
	    $(RUN_TESTS) --server tests/server/test_fuzz.py

study: $(STUDY) | deps ## build and run the sizing experiments of tests/bench/study_*.c
	@set -e; for program in $(STUDY); do $$program; done

# N=, ROUNDS=, SECONDS=, ROWS=, SIZES= and PEER= reach it as environment; see tests/bench/bench.py.
RUN_BENCH = BLOOMPORT_SO='$(abspath $(SO))' BENCH_BUILT='$(abspath $(OBJ))/tests/bench' \
            REDIS_SERVER='$(REDIS_SERVER)' $(PYTHON) tests/bench/bench.py
bench: $(SO) $(BENCH) $(FLOOR_OBJ:.o=.so) | deps ## CPU per item against doing nothing, and PEER=other.so: N= ROUNDS= ROWS=
	@$(RUN_BENCH)

bench-plot: $(SO) $(BENCH) $(FLOOR_OBJ:.o=.so) | deps ## measure speed against filter size, draw tests/bench/speed.svg: SIZES="256K 1G"
	@$(RUN_BENCH) --plot

bench-core: $(BENCH) | deps ## the core alone, no server: ROUNDS= SIZES=
	@$(OBJ)/tests/bench/bench_core $(or $(ROUNDS),7) $(SIZES)

.PHONY: bench-tool
bench-tool: $(TOOL) $(BENCH) | deps ## `bloomport build` against reading and hashing the file; memory of check: N= ROUNDS=
	@$(PYTHON) tests/bench/tool.py $(abspath $(TOOL)) $(abspath $(OBJ))/tests/bench/read_items

bench-merge: $(BENCH) | deps ## two filters of 1 GB united, against reading and copying memory: ROUNDS=
	@$(OBJ)/tests/bench/bench_merge $(or $(ROUNDS),7)

# Only RedisModule_OnLoad may be exported: the server would replace any other function of the module
# by its own of the same name. The sanitizers export symbols of their own.
$(SO): $(GLUE_OBJ) $(PURE_OBJ)
	$(CC) $(SANITIZE) $(LDFLAGS) -shared -o $@ $^ -lm
ifeq ($(SANITIZE),)
	@exported=$$(nm -D --defined-only $@ | awk '{print $$3}'); \
	test "$$exported" = RedisModule_OnLoad || \
	    { echo "$@ must export RedisModule_OnLoad only, it exports:" $$exported >&2; exit 1; }
endif

# The module with an allocator that fails on demand: tests/server/faults.c.
$(FAULTS_SO): $(GLUE_OBJ) $(PURE_OBJ) $(FAULTS_OBJ) | $(NEIGHBOUR_SO)
	$(CC) $(SANITIZE) $(LDFLAGS) -shared -Wl,--wrap=mem_set_hooks,--wrap=command_table_register -o $@ $^ -lm

# Another module in the same server: tests/server/neighbour.c. Tests that need the module above need
# this one too.
$(NEIGHBOUR_SO): $(NEIGHBOUR_OBJ)
	$(CC) $(SANITIZE) $(LDFLAGS) -shared -o $@ $^

# Two compile rules. PURE code is compiled without redismodule.h on the include path; so are the
# programs that test it.
FUZZ_SHARED = $(addprefix $(OBJ)/tests/fuzz/,fuzz.o $(if $(FUZZER),,replay.o))
PURE_PROGRAM_OBJ = $(addsuffix .o,$(UNIT) $(FUZZ) $(LARGE) $(STUDY) $(BENCH)) $(FUZZ_SHARED)
# Only the code under test guides libFuzzer, not arithmetic and loops over bits. Comparisons do not
# either, which would cost half the speed: the corpus has the magic numbers.
$(if $(FUZZER),$(filter-out %/rate.o %/sizing.o %/layer.o %/blocked.o,$(PURE_OBJ) $(TOOL_OBJ)): SANITIZE += $(FUZZER)-no-link -fno-sanitize-coverage=trace-cmp)
$(PURE_OBJ) $(TOOL_OBJ) $(PURE_PROGRAM_OBJ): $(OBJ)/%.o: %.c Makefile | $(DEPS) check-layers
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) $(CFLAGS) $(SANITIZE) -c -o $@ $<

# GLUE code sees the server.
$(GLUE_OBJ) $(FLOOR_OBJ) $(FAULTS_OBJ) $(NEIGHBOUR_OBJ): $(OBJ)/%.o: %.c Makefile | $(REDISMODULE_DIR)/redismodule.h
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) -isystem $(REDISMODULE_DIR) $(CFLAGS) $(SANITIZE) -c -o $@ $<

$(TOOL): $(TOOL_OBJ) $(PURE_OBJ)
	$(CC) $(SANITIZE) $(LDFLAGS) -pthread -o $@ $^ $(COVERAGE) -lhiredis -lm

$(UNIT): $(OBJ)/%: $(OBJ)/%.o $(PURE_OBJ)
	$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^ -lcmocka -lm

FUZZ_TOOL_OBJ = $(addprefix $(OBJ)/rdb/tool/,items.o file.o output.o progress.o threads.o)
$(addprefix $(OBJ)/tests/fuzz/,fuzz_items fuzz_file): $(FUZZ_TOOL_OBJ)
$(FUZZ): $(OBJ)/%: $(OBJ)/%.o $(FUZZ_SHARED) $(PURE_OBJ)
	$(CC) $(SANITIZE) $(FUZZER) $(LDFLAGS) -o $@ $^ -lm

$(OBJ)/tests/bench/read_items: $(addprefix $(OBJ)/rdb/tool/,items.o threads.o)
$(STUDY) $(LARGE) $(BENCH): $(OBJ)/%: $(OBJ)/%.o $(PURE_OBJ)
	$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^ -lm

$(FLOOR_OBJ:.o=.so): $(FLOOR_OBJ)
	$(CC) $(SANITIZE) $(LDFLAGS) -shared -o $@ $^

$(REDISMODULE_DIR)/redismodule.h: | $(DEPS)
	@test -f $@ || { echo "redismodule.h is not in $(REDISMODULE_DIR): run 'make deps' on Debian, or" \
	    "set REDISMODULE_DIR to the directory that has it (src/ of a Redis 7 source tree)." >&2; exit 1; }

# The allowed directions are core -> rdb -> module. The include path alone cannot see a glue header
# that happens not to include redismodule.h, nor one reached by "../".
INCLUDE = ^[[:space:]]*\#[[:space:]]*include[[:space:]]*[<"]
GLUE_HEADER = .*redismodule\.h|.*\.\./|module/[^/]*$$
check-layers:
	@! grep -nE '$(INCLUDE)($(GLUE_HEADER)|rdb/)' $(wildcard module/core/*.[ch]) /dev/null || \
	    { echo "module/core may include only module/core and the C library" >&2; exit 1; }
	@! grep -nE '$(INCLUDE)($(GLUE_HEADER))' $(wildcard rdb/*.[ch] rdb/tool/*.[ch]) /dev/null || \
	    { echo "rdb may include only rdb, module/core and the C library" >&2; exit 1; }
	@! grep -nE '\b(malloc|calloc|realloc)\(' $(filter-out module/core/mem.c,$(wildcard module/core/*.[ch] rdb/*.[ch])) || \
	    { echo "pure code allocates through module/core/mem.h" >&2; exit 1; }

format: ## clang-format all C files
	$(CLANG_FORMAT) -i $(wildcard module/*.[ch] module/core/*.[ch] rdb/*.[ch] rdb/tool/*.[ch] tests/*/*.[ch])

clean: ## remove what was built; keeps the fetched header and the data of `make run`
	rm -rf $(addprefix build/,release asan deb tsan fuzz coverage valgrind bloomport.so bloomport)

.PHONY: test-servers soak
# SERVER="redis-8.0 valkey-9" for some of them, JOBS=2 for two at a time; REDIS_SERVER is not used.
test-servers: $(SO) $(FAULTS_SO) | deps ## the server tests on Redis 7.0, 8.0, Valkey 8.0, 8.1, 9 of Debian: SERVER= T= JOBS=
	@$(TEST_ENV) BLOOMPORT_SO='$(abspath $(SO))' BLOOMPORT_FAULTS_SO='$(abspath $(FAULTS_SO))' \
	    BLOOMPORT_NEIGHBOUR_SO='$(abspath $(NEIGHBOUR_SO))' \
	    $(PYTHON) tests/tools/servers.py --only $(SERVER) --test '$(T)' --jobs $(or $(JOBS),1)

# MINUTES=, SEED= and SERVER=valkey-9, one of those of test-servers.
soak: | deps ## a mixed load with every answer checked, saves, evictions, restarts, a replica: MINUTES= SERVER=
	@$(MAKE) --no-print-directory $(SO)
	@$(TEST_ENV) BLOOMPORT_SO='$(abspath $(SO))' MINUTES='$(MINUTES)' SEED='$(SEED)' \
	    REDIS_SERVER="$(if $(SERVER),$$($(PYTHON) tests/tools/servers.py --fetch --only $(SERVER) | tail -n 1),$(REDIS_SERVER))" \
	    $(PYTHON) -B tests/soak/soak.py

help: ## this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1|\2/p' Makefile | awk -F'|' '{printf "  make %-12s %s\n", $$1, $$2}'

-include $(PURE_OBJ:.o=.d) $(GLUE_OBJ:.o=.d) $(FAULTS_OBJ:.o=.d) $(NEIGHBOUR_OBJ:.o=.d) $(FLOOR_OBJ:.o=.d) $(TOOL_OBJ:.o=.d) $(PURE_PROGRAM_OBJ:.o=.d)
