# dikkat - an HTTP microservice for attention computations. `make help` lists what can be made.
#
# One folder per variant, build/VARIANT, so that flags never mix: release debug asan tsan cov fuzz valgrind.

VARIANT ?= release
BUILD := build/$(VARIANT)
MAKEFLAGS += --no-print-directory
# A make inside a recipe uses every processor, unless the caller said how many with -j.
SUBMAKE = $(MAKE) -s $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))
ifeq ($(origin CC),default)
CC := gcc
endif

WARN := -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
# Clang reports every loop that it leaves scalar as an error; that is a matter of speed, measured by make bench.
WARN += $(if $(findstring clang,$(CC)),-Wno-pass-failed)
FLAGS_release := -O3 -g
FLAGS_debug := -O0 -g3
FLAGS_valgrind := -O1 -g
FLAGS_asan := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
FLAGS_tsan := -O1 -g -fsanitize=thread
# Coverage also runs what other processors than x86-64 run.
FLAGS_cov := -O0 -g --coverage -DDIKKAT_PLAIN_CPU
FLAGS_fuzz := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CPPFLAGS += -I. -D_GNU_SOURCE
# No -ffast-math anywhere, and no fused multiply-adds behind our back: the numbers are the contract.
CFLAGS = $(WARN) $(FLAGS_$(VARIANT)) -fopenmp-simd -ffp-contract=off -pthread
LIBS = -lmicrohttpd -ljansson -lopenblas -lz -lm -pthread

# core/NAME.real.c is compiled twice: as double, and with -DATTN_SINGLE as float.
object = $(patsubst %,$(BUILD)/%.o,$(basename $(1)))
core_obj := $(patsubst %.real.c,$(BUILD)/%.f64.o,$(wildcard core/*.real.c)) \
            $(patsubst %.real.c,$(BUILD)/%.f32.o,$(wildcard core/*.real.c)) \
            $(call object,$(filter-out %.real.c,$(wildcard core/*.c)))
api_obj := $(call object,$(wildcard api/*.c api/*.S))
server_obj := $(call object,$(filter-out server/main.c,$(wildcard server/*.c server/*.S)))
test_obj := $(call object,$(wildcard tests/core/*.c tests/api/*.c tests/server/*.c))
ref_obj := $(call object,$(wildcard tests/ref/*.c))
lib := $(BUILD)/libserver.a $(BUILD)/libapi.a $(BUILD)/libcore.a
bench := $(call object,$(wildcard tests/bench/bench_*.c))
fuzz := $(call object,$(wildcard tests/fuzz/fuzz_*.c))
tool := $(patsubst %.c,$(BUILD)/%,$(filter-out %/wrong_gemm.c %/jumping_clock.c,$(wildcard tests/tools/*.c)))
c_files := $(wildcard core/*.[ch] api/*.[ch] server/*.[ch] tests/*/*.[ch])

.PHONY: all
all: $(BUILD)/dikkat ## build build/release/dikkat (the default)

# --- what people use -------------------------------------------------------------------------------------------------

.PHONY: run test bench help setup
run: ## install what is missing, build, and serve on 127.0.0.1:8080
	@tests/tools/setup.sh run
	@$(SUBMAKE) all
	@exec $(BUILD)/dikkat

test: ## install what is missing, build, and run every test
	@tests/tools/setup.sh test
	@$(SUBMAKE) suite

bench: ## measure, each figure beside its goal; non-zero when a gated one is missed
	@tests/tools/setup.sh run
	@$(SUBMAKE) bench-programs
	@tests/tools/bench.sh $(bench:.o=)

setup: ## install what building, testing and checking need
	@tests/tools/setup.sh all

help: ## this list
	@awk -F ':.*## ' '/^[a-z][a-z.-]*:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# --- the gates -------------------------------------------------------------------------------------------------------

.PHONY: suite asan tsan valgrind coverage fuzz contracts layers lint format
suite: $(BUILD)/dikkat $(BUILD)/unit-tests $(tool) # every test, without the set-up
	@PROGRAM=$(BUILD)/dikkat tests/tools/suite.sh $(BUILD)

asan: ## the unit tests and the server under mixed load, under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(SUBMAKE) VARIANT=asan build/asan/unit-tests build/asan/dikkat
	@$(SUBMAKE) $(BUILD)/tests/tools/soak
	@SOAK=$(BUILD)/tests/tools/soak tests/tools/asan.sh build/asan

tsan: ## many threads at once, and the whole server under mixed load, under ThreadSanitizer
	@$(SUBMAKE) VARIANT=tsan build/tsan/tests/tools/replay build/tsan/dikkat
	@$(SUBMAKE) $(BUILD)/tests/tools/soak
	@SOAK=$(BUILD)/tests/tools/soak tests/tools/tsan.sh build/tsan

valgrind: ## golden requests under Valgrind's memcheck
	@$(SUBMAKE) VARIANT=valgrind build/valgrind/tests/tools/replay
	@tests/tools/valgrind.sh build/valgrind/tests/tools/replay

coverage: ## line coverage of core/ and api/, at least 95 %
	@$(SUBMAKE) VARIANT=cov build/cov/unit-tests build/cov/dikkat
	@tests/tools/coverage.sh build/cov 95

FUZZ_SECONDS ?= 20
fuzz: ## libFuzzer on the readers of foreign bytes, FUZZ_SECONDS=20 each
	@$(SUBMAKE) VARIANT=fuzz CC=clang fuzz-programs
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tests/tools/fuzz.sh $(patsubst $(BUILD)/%.o,build/fuzz/%,$(fuzz))

contracts: $(BUILD)/dikkat ## manifests, openapi.yaml, and requests and answers, against their schemas (Python, PyPI)
	@tests/tools/contracts.sh $(BUILD)

layers: $(lib) ## dependencies point one way: core <- api <- server
	@tests/tools/layers.sh $(BUILD)

lint: ## clang-format, clang-tidy and cppcheck
	@tests/tools/lint.sh $(c_files)

format: ## rewrite the sources in the house style
	@clang-format -i $(c_files)

# --- by hand ---------------------------------------------------------------------------------------------------------

.PHONY: test-decimal soak openapi golden container clean
DECIMAL_COUNT ?= 1000000000
test-decimal: $(BUILD)/tests/tools/decimal_check ## 10^9 random doubles and floats against the C library (minutes)
	$< $(DECIMAL_COUNT)

soak: $(BUILD)/dikkat $(BUILD)/unit-tests $(BUILD)/tests/tools/soak ## the long harm tests, SOAK_SECONDS=600 of full load among them
	@PROGRAM=$(BUILD)/dikkat tests/tools/soak.sh $(BUILD)

openapi: $(BUILD)/tests/tools/yaml2json ## make server/web/openapi.json from openapi.yaml again (a test compares them)
	@$< openapi.yaml >server/web/openapi.json.new && mv server/web/openapi.json.new server/web/openapi.json

golden: ## make the golden answers again (python3-numpy)
	python3 tests/golden/make.py

container: ## build the image and hold it to its promises
	@docker/container_test.sh

clean: ## remove build/
	rm -rf build

# --- how -------------------------------------------------------------------------------------------------------------

$(BUILD)/dikkat: $(BUILD)/server/main.o $(lib)
	$(call link)

.PHONY: $(BUILD)/tests
$(BUILD)/tests: $(BUILD)/unit-tests # a folder of objects; who asks for it means the program
# Tests stand in for these: any allocation can fail (tests/api/fault.c), any product be wrong (tests/core/test_selftest.c).
wrap := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free,--wrap=mmap,--wrap=mremap \
        -Wl,--wrap=cblas_dgemm,--wrap=cblas_sgemm
$(BUILD)/unit-tests: $(test_obj) $(ref_obj) $(lib)
	$(call link,-lcriterion $(wrap))

.PHONY: bench-programs fuzz-programs
bench-programs: $(bench:.o=) $(BUILD)/tests/tools/kernel_probe $(BUILD)/dikkat
$(bench:.o=): %: %.o $(BUILD)/tests/bench/bench.o $(BUILD)/tests/bench/load.o $(BUILD)/tests/server/client.o $(ref_obj) $(lib)
	$(call link)

fuzz-programs: $(fuzz:.o=)
$(fuzz:.o=): %: %.o $(lib)
	$(call link,-fsanitize=fuzzer)

$(BUILD)/tests/tools/yaml2json: $(BUILD)/tests/tools/yaml2json.o
	@echo link $@ && $(CC) $(CFLAGS) -o $@ $^ -lyaml
$(BUILD)/tests/tools/soak: $(BUILD)/tests/server/client.o
$(BUILD)/tests/tools/%: $(BUILD)/tests/tools/%.o $(lib)
	$(call link)

$(BUILD)/libcore.a: $(core_obj)
$(BUILD)/libapi.a: $(api_obj)
$(BUILD)/libserver.a: $(server_obj)
$(lib): $(BUILD)/list
	@rm -f $@ && echo ar $@ && $(AR) rcs $@ $(filter %.o,$^)

link = @echo link $@ && $(CC) $(CFLAGS) -o $@ $^ $(LIBS) $(1)
compile = @mkdir -p $(@D) && echo $(CC) $< && $(CC) $(CPPFLAGS) $(1) $(CFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/%.f64.o: %.real.c $(BUILD)/flags
	$(call compile)
$(BUILD)/%.f32.o: %.real.c $(BUILD)/flags
	$(call compile,-DATTN_SINGLE)
$(BUILD)/%.o: %.c $(BUILD)/flags
	$(call compile)
$(BUILD)/%.o: %.S $(BUILD)/flags
	$(call compile)

# What api/*.S and server/*.S include as it is.
$(call object,$(wildcard api/*.S)): $(wildcard api/examples/*.json)
$(call object,$(wildcard server/*.S)): openapi.yaml $(wildcard server/web/*)

# Only version.c knows the commit, so that a new one compiles nothing else.
COMMIT ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
$(BUILD)/server/version.o: private CPPFLAGS += -DCOMMIT='"$(COMMIT)"'
$(BUILD)/server/version.o: $(BUILD)/commit

# Rewritten only when they change: new flags compile everything again, a removed source leaves its archive.
changed = @mkdir -p $(@D) && echo '$(1)' | cmp -s - $@ || echo '$(1)' >$@
.PHONY: FORCE
$(BUILD)/flags: FORCE
	$(call changed,$(CC) $(CPPFLAGS) $(CFLAGS))
$(BUILD)/commit: FORCE
	$(call changed,$(COMMIT))
$(BUILD)/list: FORCE
	$(call changed,$(core_obj) $(api_obj) $(server_obj))

.SECONDARY:
-include $(wildcard $(BUILD)/*/*.d $(BUILD)/*/*/*.d)
