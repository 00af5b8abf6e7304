# Each target works on a fresh Debian 12 machine: what it lacks is installed first, by
# tools/dev/setup.sh.
# Everything is made under build/. Paths are relative, so the clone may be anywhere.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.NOTPARALLEL:
.DEFAULT_GOAL := help

# What Python leaves behind goes under build/ too. It does leave bytecode, whatever the environment says:
# without it, each of the hundreds of processes that tests start compiles all that it imports.
export PYTHONPYCACHEPREFIX := $(CURDIR)/build/pycache
unexport PYTHONDONTWRITEBYTECODE
export HYPOTHESIS_STORAGE_DIRECTORY := $(CURDIR)/build/hypothesis

VENV := build/venv/bin/python
CHECK := python3 tools/dev

.PHONY: help
help:
	@echo 'make demo    a voice detector and a digit reader, from nothing to a picture'
	@echo 'make test    builds, checks the sources, runs the C++ and the Python tests'
	@echo 'make test-long  tests alongside JAX, Numba, Arrow; jobs on Ray and Dask whose processes are killed;'
	@echo '                wheels and packages in clean installations, as root'
	@echo 'make bench   measures Scanloom alongside its peers; ARGS="--only lstm --sizes h=256" selects'
	@echo 'make bench-peers  installs the peers that the benchmarks can do without'
	@echo 'make check   the checks on the sources alone: format, layers, imports, lists, sizes, words, headers'
	@echo 'make format  formats the C++ sources'
	@echo 'make docs    the documents and the reference as a site, in build/site'
	@echo 'make build   the library, the command line and the examples, in build/release'
	@echo 'make python  the Python package, in build/venv'
	@echo 'make wheel   wheels that need nothing but numpy, in build/wheels'
	@echo 'make package  Debian packages and an archive, in build/portable/packages'
	@echo 'make check-packages  tests wheels and packages in clean installations of Debian, as root'
	@echo 'make wheel-aarch64, make check-aarch64  the same for AArch64: cross-compiled, tested by qemu'
	@echo 'make sdist   the source distribution, in build/wheels; make check-sdist installs it'
	@echo 'make setup   installs what the targets above need'
	@echo 'make clean   removes build/'

.PHONY: setup
setup:
	@tools/dev/setup.sh build test bench docs demo

# Says how long to wait, where nothing is built yet: the first argument is in minutes of one core.
announce = @[[ -e build/release/lib/libscanloom.so ]] || printf \
    'Compiling Scanloom for the first time takes about %d minutes on %d cores.\n' \
    $$((($(1) + $$(nproc) - 1) / $$(nproc))) $$(nproc)

.PHONY: build
build:
	@tools/dev/setup.sh build
	$(call announce,16)
	cmake --preset release -DSCANLOOM_BUILD_TESTS=OFF
	cmake --build --preset release

# What the Python package needs of build/release: neither the command line nor the examples.
.PHONY: library
library:
	@tools/dev/setup.sh build
	$(call announce,14)
	cmake --preset release -DSCANLOOM_BUILD_TESTS=OFF
	cmake --build --preset release --target scanloom scanloom_jit scanloom_images

# The library is taken from build/release, so that only the extension is compiled here.
.PHONY: python
python: library
	@tools/dev/setup.sh build python
	$(VENV) -m pip install --quiet --no-deps --no-build-isolation \
	    --config-settings=build-dir=build/python \
	    --config-settings=cmake.define.SCANLOOM_LIBRARY_DIR=build/release \
	    --config-settings=cmake.define.SCANLOOM_PACKAGE_PARTS=library .

# A build of its own, because it links everything statically (docs/releasing.md).
.PHONY: portable
portable:
	@tools/dev/setup.sh build python packages
	@tools/packages/fetch.sh re2 python
	cmake --preset portable
	cmake --build --preset portable

.PHONY: wheel
wheel: portable
	tools/packages/wheels.sh build/portable

.PHONY: package
package: wheel
	tools/packages/packages.sh build/portable

# In clean installations of Debian 12 and 13; as root.
.PHONY: check-packages
check-packages:
	@tools/dev/setup.sh packages
	tools/packages/check_roots.sh build/portable

# Cross-compiled on x86-64, with the compiler of loops.
.PHONY: wheel-aarch64
wheel-aarch64:
	@tools/dev/setup.sh build python packages aarch64
	@tools/packages/fetch.sh re2 aarch64 python-aarch64
	cmake --preset portable-aarch64
	cmake --build --preset portable-aarch64
	tools/packages/wheels.sh build/portable-aarch64

# In unpacked installations for AArch64, emulated; as root.
.PHONY: check-aarch64
check-aarch64:
	@tools/dev/setup.sh build python test packages aarch64
	@$(MAKE) --no-print-directory python
	tools/packages/check_aarch64.sh

.PHONY: sdist
sdist:
	@tools/dev/setup.sh python packages
	rm -f build/wheels/scanloom-*.tar.gz
	$(VENV) -m build --sdist --no-isolation --outdir build/wheels .

# pip compiles all of it in an environment of its own.
.PHONY: check-sdist
check-sdist: sdist
	@tools/dev/setup.sh build
	tools/packages/check_sdist.sh

.PHONY: demo
demo:
	@tools/dev/setup.sh build python demo
	@$(MAKE) --no-print-directory python
	@$(VENV) demo/run.py

# The test runners come last, so that the last lines are their summaries.
.PHONY: test
test:
	@tools/dev/setup.sh build python test
	@$(VENV) demo/fetch_models.py
	@$(MAKE) --no-print-directory check-sources python
	cmake --preset release
	cmake --build --preset release
	ctest --preset release -j "$$(nproc)"
	$(VENV) -m pytest -q -n "$$(nproc)" --dist worksteal -o cache_dir=build/pytest \
	    python/tests tests/dev tests/cli tests/docs

# Tests that are skipped without packages which `make test` does not install, then wheels and packages
# in clean installations, for which it needs root.
.PHONY: test-long
test-long:
	@tools/dev/setup.sh build python test long
	@$(MAKE) --no-print-directory python
	$(VENV) -m pytest -q -rs -o cache_dir=build/pytest python/tests/session/test_neighbours.py \
	    python/tests/batch/test_batch_clusters.py tests/long
	@$(MAKE) --no-print-directory package check-packages

.PHONY: bench
bench:
	@tools/dev/setup.sh build python bench
	cmake --preset bench
	cmake --build --preset bench
	@$(MAKE) --no-print-directory python
	$(VENV) bench/run.py $(ARGS)

.PHONY: bench-peers
bench-peers:
	@tools/dev/setup.sh bench peers

# The reference of Python is read from the package. A broken link is an error.
.PHONY: docs
docs:
	@tools/dev/setup.sh build python docs
	@$(MAKE) --no-print-directory python
	NO_MKDOCS_2_WARNING=1 $(VENV) -m mkdocs build
	@echo 'docs: build/site/index.html'

.PHONY: check
check: check-sources check-headers

.PHONY: check-sources
check-sources:
	@tools/dev/setup.sh build test
	@tools/dev/check_format.sh
	@$(CHECK)/check_layers.py
	@$(CHECK)/check_imports.py
	@$(CHECK)/check_lists.py
	@$(CHECK)/check_sizes.py
	@$(CHECK)/check_words.py

# Every header is compiled alone, which takes longer than the other checks together: not a part of
# `make test` but of `make check` and of .ci/run.
.PHONY: check-headers
check-headers:
	@tools/dev/setup.sh build
	@$(CHECK)/check_headers.py

.PHONY: format
format:
	@tools/dev/setup.sh test
	@tools/dev/check_format.sh --fix

.PHONY: clean
clean:
	rm -rf build
