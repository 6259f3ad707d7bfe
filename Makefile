# The commands a person types. The build itself is CMake's (CMakeLists.txt, CMakePresets.json); these targets install
# the Debian packages that are missing, configure once, and call ninja and ctest.
.DEFAULT_GOAL := build
.PHONY: build demo test test-slow page-test mutants races arm64 format tidy clean packages

JOBS ?= $(shell nproc)
CTEST = ctest --output-on-failure --no-tests=error -j $(JOBS)
# The floors where threads meet: their tests run under the thread sanitizer.
TSAN_FLOORS = io base
# What runs under the address and undefined-behaviour sanitizers: the unit tests of every floor that touches raw bytes,
# and the goldens, which run a whole model. (Those of `models` take a compiler as long as three of these: call
# `make test-slow ASAN_FLOORS=models` after a change there.)
ASAN_FLOORS = compute checkpoint io text formats residency base generate state moe
# These sanitizers look at addresses, not at numbers: one of so many cases of the kernels' sweeps tells them as much.
ASAN_STRIDE = 5
# For example -DCMAKE_CXX_COMPILER_LAUNCHER=ccache.
CONFIGURE_FLAGS ?=
# $(call configured,PRESET,FOLDER): ninja repeats the configuration itself when a CMake file changed.
configured = test -f $(2)/build.ninja || cmake --preset $(1) $(CONFIGURE_FLAGS)
# $(call side_by_side,PROGRAMS): test programs in halves, as many at a time as there are jobs; fails if one does. The
# longest goes first.
side_by_side = for program in $(1); do echo "0 $$program"; echo "1 $$program"; done | xargs -P $(JOBS) -n 2 \
  sh -c 'GTEST_TOTAL_SHARDS=2 GTEST_SHARD_INDEX=$$0 exec $$1 --gtest_brief=1'

## build: build/sluice (the default)
build: packages
	@$(call configured,release,build)
	@ninja -C build -j $(JOBS) sluice

## demo: build, then generate text from a bundled checkpoint under a budget smaller than its weights; FAMILY=olmoe,
##       glm-5.2 or deepseek-v4 picks another than Kimi K3
demo: build
	@scripts/demo.sh $(FAMILY)

## test: build everything and run the quick suite
test: packages
	@$(call configured,release,build)
	@ninja -C build -j $(JOBS)
	@$(CTEST) --test-dir build -LE slow

## test-slow: the long matrices, unit tests under the address, undefined and thread sanitizers, and those for 64-bit ARM
test-slow: packages arm64
	@scripts/packages.sh format
	@$(call configured,release,build)
	@ninja -C build -j $(JOBS)
	@$(CTEST) --test-dir build -L 'slow|structure' --timeout 1500
	@$(call configured,asan,build-asan)
	@ninja -C build-asan -j $(JOBS) $(ASAN_FLOORS:%=%_test) golden_tests
	@export SLUICE_SWEEP_STRIDE=$(ASAN_STRIDE); $(call side_by_side,build-asan/tests/golden_tests $(ASAN_FLOORS:%=build-asan/src/%_test))
	@$(call configured,tsan,build-tsan)
	@ninja -C build-tsan -j $(JOBS) $(TSAN_FLOORS:%=%_test)
	@$(call side_by_side,$(TSAN_FLOORS:%=build-tsan/src/%_test))

## page-test: the web page in a headless chromium, if there is one; screenshots are left in build/page_screenshots
page-test: packages
	@$(call configured,release,build)
	@ninja -C build -j $(JOBS) sluice page_tests
	@build/tests/page_tests

## races: the stores, the engine and the server under the thread sanitizer (the build alone takes a quarter of an hour)
races: packages
	@$(call configured,tsan,build-tsan)
	@ninja -C build-tsan -j $(JOBS) residency_test engine_test serve_test laws_tests e2e_tests sluice
	@set -e; for floor in residency engine serve; do build-tsan/src/$${floor}_test --gtest_brief=1; done
	@build-tsan/tests/laws_tests --gtest_brief=1 --gtest_filter='*ExpertLaw*:*ExpertStoreLaw*:*TrunkLaw*:*RowLaw*'
	@build-tsan/tests/e2e_tests --gtest_brief=1 --gtest_filter='*Determinism.OverThreads*:Serve.*'

## mutants: plant every known mistake into a copy of the sources and see the goldens catch it (minutes)
mutants: packages
	@tests/mutations/run.sh build-mutants

## arm64: the floors that compute, built for 64-bit ARM, and their unit tests under qemu (minutes)
arm64:
	@scripts/packages.sh build arm64
	@tests/arm64/run.sh build-arm64

## format: rewrite the sources as clang-format 14 says
format:
	@scripts/packages.sh format
	@git ls-files -z 'src/*.h' 'src/*.cpp' 'src/*.inl' 'tests/*.h' 'tests/*.cpp' 'bench/*.cpp' | xargs -0 clang-format-14 -i

## tidy: clang-tidy over src (minutes)
tidy: packages
	@scripts/packages.sh tidy
	@$(call configured,clang,build-clang)
	@run-clang-tidy-14 -quiet -p build-clang -j $(JOBS) "$(CURDIR)/src/.*"

## clean: remove the build folders
clean:
	@rm -rf build build-debug build-asan build-tsan build-clang build-mutants

packages:
	@scripts/packages.sh build
