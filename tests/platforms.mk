# Other architectures, C libraries and compilers; the Makefile includes it. None of this needs
# other hardware: foreign programs run under qemu-user, with the libraries of Debian's own packages.

# ---- Another architecture: compiled here by Debian's cross compiler, run by qemu-user ----
# deps.sh has unpacked that architecture's C library, libraries and redis-server into FOREIGN. qemu is
# called by name, so that the machine needs no binfmt_misc.
ifneq ($(filter arm64 s390x,$(FLAVOUR)),)
MACHINE  = $(FLAVOUR:arm64=aarch64)
FOREIGN  = $(CURDIR)/build/debian/$(FLAVOUR)/root
CC       = $(MACHINE)-linux-gnu-gcc --sysroot=$(FOREIGN) -DUNDER_EMULATION=1
EMULATOR = qemu-$(MACHINE)-static -L $(FOREIGN)
OLD_DIR  = $(OBJ)
OLD_CC   = $(CC)
REDIS_SERVER = $(FOREIGN)/usr/bin/redis-server
STARTED_TOOL = $(OBJ)/emulated/bloomport
TEST_ENV = BLOOMPORT_EMULATED=$(FLAVOUR) BLOOMPORT_WRAP='$(EMULATOR)' BLOOMPORT_NATIVE='$(CURDIR)/build' \
           BLOOMPORT_PROGRAM_SEEDS=1-3 BLOOMPORT_PROGRAM_COMMANDS=300 BLOOMPORT_FUZZ_RUNS=200
endif

# The tests start the tool as one program, without words before it.
$(OBJ)/emulated/bloomport: $(TOOL) Makefile tests/platforms.mk
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec %s "$$@"\n' '$(EMULATOR) $(abspath $(TOOL))' >$@
	@chmod 755 $@

##@ Other platforms
.PHONY: test-arm64 test-s390x test-emulated
# The module and the tool of this machine are built first: the two are compared.
test-arm64: $(SO) $(TOOL) $(CLOCK_SO) | $(DEPS) ## cross-built for arm64 and run under qemu-user, its files compared with this machine's: T=test_golden
	@$(MAKE) --no-print-directory FLAVOUR=arm64 test-emulated

test-s390x: $(SO) $(TOOL) $(CLOCK_SO) | $(DEPS) ## the same on a big-endian machine, s390x
	@$(MAKE) --no-print-directory FLAVOUR=s390x test-emulated

# Every test but those of left_out.txt, which says why.
EMULATED = tests/platforms tests/server tests/cli
test-emulated: $(SO) $(FAULTS_SO) $(TOOL) $(STARTED_TOOL) $(UNIT) $(FUZZ)
	@$(RUN_TESTS) --left-out tests/platforms/left_out.txt \
	    $(if $(T),--server $(wildcard $(EMULATED:%=%/$(T).py)),--unit $(UNIT) $(FUZZ) --server $(EMULATED))

# ---- musl, the C library of Alpine ----

# Left out are server tests that would ask the C library nothing new: replies, limits, clients,
# foreign masters and clusters.
MUSL_SERVER = every_command add batches blocked growth persistence replication background memory \
    export import formats_fixtures formats_headers formats_refused bulk window keyed \
    random_programs faults resp3 golden
.PHONY: test-musl musl-run
test-musl: ## module, tool and redis-server built with musl-gcc: unit tests, the tool, some server tests
	@$(RUN_DEPS) test musl
	@PYTHON='$(PYTHON)' sh tests/support/musl.sh build/musl
	@$(MAKE) --no-print-directory -j$$(nproc) FLAVOUR=musl CC=musl-gcc REDIS_SERVER='$(abspath build/musl/root/bin/redis-server)' musl-run

musl-run: $(SO) $(FAULTS_SO) $(TOOL) $(UNIT) $(FUZZ)
	@$(RUN_TESTS) --unit $(UNIT) $(FUZZ) --server $(MUSL_SERVER:%=tests/server/test_%.py) tests/cli

# ---- Other compilers ----

.PHONY: test-compilers built test-built
test-compilers: ## gcc 12 to 14, clang 14 to 19: warnings are errors; -O2, -O3, LTO; needs root: COMPILERS="gcc-14 clang-19"
	@$(RUN_DEPS) compilers
	@REDISMODULE_DIR='$(REDISMODULE_DIR)' $(PYTHON) tests/support/compilers.py $(COMPILERS)

# What tests/support/compilers.py runs in its roots: UNIT_NAMES=, SERVER_NAMES=
BUILT_UNIT = $(UNIT_NAMES:%=$(OBJ)/tests/unit/%)
built: $(SO) $(TOOL) $(FAULTS_SO) $(BUILT_UNIT)
test-built: built
	@$(RUN_TESTS) --unit $(BUILT_UNIT) --server $(SERVER_NAMES:%=tests/server/%.py)
