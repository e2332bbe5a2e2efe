# bloomport: every build, test and try-out starts here. `make help` lists the targets; those that
# test and measure are in tests/targets.mk, those of releases in module/extras/release/release.mk.
#
#   V             if set, the commands are shown
#   CI            if set, warnings are errors
#   FLAVOUR       release (default), asan, fuzz...; objects live in build/<flavour>/ and never mix

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
FLAVOUR      ?= release
# Debian's redis-server may execute what is under /usr/lib, and nothing under /usr/local.
PREFIX       ?= /usr/local
MODULE_DIR   ?= $(PREFIX)/lib/redis/modules
ZSH_DIR      ?= $(PREFIX)/share/zsh/site-functions

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
HIREDIS ?= -lhiredis
DECODERS = -lz -lzstd -llzma
# Sources by wildcard, so that no file can be forgotten.
CORE_DIRS = module/core $(addprefix module/core/,hash math filter)
PURE_DIRS = $(CORE_DIRS) rdb rdb/formats
PURE_OBJ  = $(patsubst %.c,$(OBJ)/%.o,$(wildcard $(PURE_DIRS:%=%/*.c)))
TOOL_OBJ  = $(patsubst %.c,$(OBJ)/%.o,$(wildcard rdb/tool/*.c))
GLUE_OBJ  = $(patsubst %.c,$(OBJ)/%.o,$(wildcard module/*.c))

RUN_DEPS = CC='$(CC)' PYTHON='$(PYTHON)' REDIS_SERVER='$(REDIS_SERVER)' \
           REDISMODULE_DIR='$(REDISMODULE_DIR)' sh tests/support/deps.sh

# One line for each file, `  CC      module/key.c`, or with V=1 the command.
Q   = $(if $(V),,@)
SAY = @$(if $(V),:,printf '  %-7s %s\n')

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all run install uninstall completions page deps test format clean help
include tests/targets.mk tests/platforms.mk module/extras/release/release.mk
RULE_FILES := $(MAKEFILE_LIST)

##@ Use it
all: $(OBJ)/headers-of-tool $(SO) $(TOOL) ## build build/bloomport.so and the tool build/bloomport (the default)

# One step after another: a taken port is reported before anything is installed or built.
run: ## install what is missing, build, start a server with the module: PORT= ARGS=
	@sh tests/support/port.sh $(PORT) $(ARGS) >/dev/null
	@$(RUN_DEPS) run
	@$(MAKE) --no-print-directory $(SO) $(TOOL)
	@mkdir -p build/run
	@port=$$(sh tests/support/port.sh $(PORT) $(ARGS)) || exit 1; \
	echo "bloomport is starting on port $$port, data in build/run, Ctrl-C ends it. Type next, in another terminal:"; \
	for words in 'RESERVE visitors 0.01 1000000' 'ADD visitors alice' 'EXISTS visitors alice'; do \
	    echo "  redis-cli -p $$port BF.$$words"; done; \
	exec $(REDIS_SERVER) --port $$port --dir build/run --loadmodule $(abspath $(SO)) $(ARGS)

BASH_FILE = $(PREFIX)/share/bash-completion/completions/bloomport
FISH_FILE = $(PREFIX)/share/fish/vendor_completions.d/bloomport.fish
install: all ## install the module, the tool, its man page and completions: PREFIX=/usr/local MODULE_DIR= DESTDIR=
	install -D -m 755 $(SO) $(DESTDIR)$(MODULE_DIR)/bloomport.so
	install -D -m 755 $(TOOL) $(DESTDIR)$(PREFIX)/bin/bloomport
	install -D -m 644 rdb/tool/bloomport.1 $(DESTDIR)$(PREFIX)/share/man/man1/bloomport.1
	install -D -m 644 module/extras/completions/bloomport.bash $(DESTDIR)$(BASH_FILE)
	install -D -m 644 module/extras/completions/bloomport.zsh $(DESTDIR)$(ZSH_DIR)/_bloomport
	install -D -m 644 module/extras/completions/bloomport.fish $(DESTDIR)$(FISH_FILE)
	install -D -m 644 module/extras/debian/bloomport.conf $(DESTDIR)$(PREFIX)/share/doc/bloomport/examples/bloomport.conf
	sed -i 's|/usr/lib/redis/modules|$(MODULE_DIR)|' $(DESTDIR)$(PREFIX)/share/doc/bloomport/examples/bloomport.conf

INSTALLED = $(BASH_FILE) $(ZSH_DIR)/_bloomport $(FISH_FILE) $(MODULE_DIR)/bloomport.so $(PREFIX)/bin/bloomport $(PREFIX)/share/man/man1/bloomport.1 \
            $(PREFIX)/share/doc/bloomport/examples/bloomport.conf
uninstall: ## remove what `make install` installed: the same PREFIX= MODULE_DIR= DESTDIR=
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	rmdir --ignore-fail-on-non-empty $(addprefix $(DESTDIR),$(MODULE_DIR) $(PREFIX)/share/doc/bloomport/examples $(PREFIX)/share/doc/bloomport)

completions: $(TOOL) ## write module/extras/completions again, from the tool's own table
	for shell in bash zsh fish; do $(TOOL) completion $$shell >module/extras/completions/bloomport.$$shell || exit 1; done

page: ## the calculator and viewer as one file, build/page/index.html: open it in a browser
	@$(RUN_DEPS) python
	@$(PYTHON) tests/support/make_page.py module/extras/page/index.html build/page/index.html

##@ Work on it
deps: ## install what building needs (Debian), get redismodule.h; says what it does
	@$(RUN_DEPS) build

test: | $(DEPS) ## install what is missing, run every quick test; ends in "N passed, N failed": JOBS=
	@$(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS)) built-for-test
	@$(RUN_TESTS) --unit $(UNIT) $(FUZZ) --server $(QUICK)

format: ## clang-format all C files
	$(CLANG_FORMAT) -i $(wildcard module/*.[ch] $(PURE_DIRS:%=%/*.[ch]) rdb/tool/*.[ch] tests/*/*.[ch])

clean: ## remove what was built; keeps what was downloaded and the data of `make run`
	rm -rf $(addprefix build/,release asan tsan fuzz coverage valgrind arm64 s390x musl deb debs dist 0.1.0 bloomport.so bloomport)

help: ## this list
	@sed -nE 's/^##@ (.*)/\n\1:/p; s/^([a-z0-9-]+):.*## (.*)/\1|\2/p' $(RULE_FILES) | \
	    awk -F'|' 'NF == 2 { $$0 = sprintf("  make %-18s %s", $$1, $$2) } { print }'

# Only RedisModule_OnLoad may be exported: the server would replace any other function of the module
# by its own of the same name. The sanitizers export symbols of their own; musl's start files export
# _init and _fini, which the loader calls by their addresses.
$(SO): $(GLUE_OBJ) $(PURE_OBJ)
	$(SAY) LINK $@
	$(Q)$(CC) $(SANITIZE) $(LDFLAGS) -pthread -shared -o $@ $^ -lm
ifeq ($(SANITIZE),)
	@exported=$$(nm -D --defined-only $@ | awk '$$3 !~ /^_(init|fini)$$/ {print $$3}'); \
	test "$$exported" = RedisModule_OnLoad || \
	    { echo "$@ must export RedisModule_OnLoad only, it exports:" $$exported >&2; exit 1; }
endif

$(TOOL): $(TOOL_OBJ) $(PURE_OBJ)
	$(SAY) LINK $@
	$(Q)$(CC) $(SANITIZE) $(LDFLAGS) -pthread -o $@ $^ $(COVERAGE) $(HIREDIS) -lssl -lcrypto $(DECODERS) -lm

# Two compile rules. PURE code is compiled without redismodule.h on the include path; so are the
# programs that test it. GLUE code sees the server.
$(PURE_OBJ) $(TOOL_OBJ) $(PURE_PROGRAM_OBJ): $(OBJ)/%.o: %.c $(RULE_FILES) | $(DEPS) check-machine check-layers
	@mkdir -p $(@D)
	$(SAY) CC $<
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) $(SANITIZE) -c -o $@ $<

$(GLUE_OBJ) $(GLUE_TEST_OBJ): $(OBJ)/%.o: %.c $(RULE_FILES) | check-machine $(REDISMODULE_DIR)/redismodule.h
	@mkdir -p $(@D)
	$(SAY) CC $<
	$(Q)$(CC) $(BASE_CFLAGS) -isystem $(REDISMODULE_DIR) $(CFLAGS) $(SANITIZE) -c -o $@ $<

$(REDISMODULE_DIR)/redismodule.h: | $(DEPS)
	@test -f $@ || { echo "redismodule.h is not in $(REDISMODULE_DIR): run 'make deps' on Debian, or" \
	    "set REDISMODULE_DIR to the directory that has it (src/ of a Redis 7 source tree)." >&2; exit 1; }

-include $(patsubst %.o,%.d,$(PURE_OBJ) $(GLUE_OBJ) $(TOOL_OBJ) $(PURE_PROGRAM_OBJ) $(GLUE_TEST_OBJ))
