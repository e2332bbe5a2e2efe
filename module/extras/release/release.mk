# Packages and releases; the Makefile includes it. .github/workflows/release.yml does the same on a tag.

##@ Release it
.PHONY: version deb debs dist release-check test-deb test-dist test-container
version: ## print the version of the source
	@sed -n 's/^#define VERSION_[A-Z]* \([0-9]*\)$$/\1/p' module/core/version.h | paste -sd .

# For another Debian or architecture it is built in a fresh Debian, by a cross compiler, as root.
IN_ROOT = REDISMODULE_DIR='$(REDISMODULE_DIR)' MAKE='$(MAKE)' $(PYTHON) -B module/extras/debian/in_root.py
deb: ## build/deb/bloomport_<version>-1~deb<n>u1_<arch>.deb: module and tool as a Debian package; as root RELEASE=trixie ARCH=arm64
	@$(RUN_DEPS) deb $(if $(RELEASE)$(ARCH),debs)
	@$(if $(RELEASE)$(ARCH),$(IN_ROOT) build/deb '$(RELEASE)' '$(ARCH)',MAKE='$(MAKE)' sh module/extras/debian/deb.sh build/deb)

debs: ## build/debs: the package for Debian 12 and 13, amd64 and arm64; needs root
	@$(RUN_DEPS) debs
	@$(IN_ROOT) build/debs bookworm,trixie amd64,arm64

dist: ## build/dist: the files of a release, of the last commit: tarballs, packages, SBOM, SHA256SUMS; needs root
	@$(RUN_DEPS) debs sbom
	@REDISMODULE_DIR='$(REDISMODULE_DIR)' $(PYTHON) -B module/extras/release/dist.py build/dist

release-check: | $(DEPS) ## all that a release needs, two targets at a time, and one table; needs root: ONLY="test-page test-deb" for some
	@$(PYTHON) tests/support/release_check.py --make '$(MAKE)' $(ONLY)

# T="trixie valkey": only the checks whose name has these words.
test-deb: debs ## the four packages: lintian, built twice the same, installed and used on Debian 12 and 13; needs root
	@$(RUN_DEPS) test-deb
	@REDISMODULE_DIR='$(REDISMODULE_DIR)' $(PYTHON) -B tests/support/try_deb.py build/debs $(T)

test-dist: dist ## `make dist` twice, the same bytes; what is in the files, the SBOM too; needs root
	@$(RUN_DEPS) test-deb
	@REDISMODULE_DIR='$(REDISMODULE_DIR)' $(PYTHON) -B tests/support/try_dist.py build/dist

test-container: ## the steps of module/extras/container in fresh Debians, then its servers; no engine needed, but root
	@$(RUN_DEPS) test-deb
	@$(PYTHON) -B tests/support/try_container.py build/container module/extras/container/Containerfile
