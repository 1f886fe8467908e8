# dikkat - `make run` serves, `make test` tests; both install what is missing.
VARIANT ?= release
BUILD := build/$(VARIANT)
CC ?= gcc
WARN := -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
CPPFLAGS += -I. -D_GNU_SOURCE
FLAGS_release := -O3 -g
FLAGS_debug := -O0 -g3
FLAGS_asan := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
FLAGS_tsan := -O1 -g -fsanitize=thread
FLAGS_cov := -O0 -g --coverage
CFLAGS = $(WARN) $(FLAGS_$(VARIANT)) -fopenmp-simd -ffp-contract=off -pthread -MMD -MP
LIBS = -lmicrohttpd -ljansson -lopenblas -lz -lm -pthread

# core/NAME.real.c is compiled twice: double and, with -DATTN_SINGLE, float.
core_obj := $(patsubst %.real.c,$(BUILD)/%.f64.o,$(wildcard core/*.real.c)) \
            $(patsubst %.real.c,$(BUILD)/%.f32.o,$(wildcard core/*.real.c)) \
            $(patsubst %.c,$(BUILD)/%.o,$(filter-out %.real.c,$(wildcard core/*.c)))
api_obj := $(patsubst %.c,$(BUILD)/%.o,$(wildcard api/*.c))
server_obj := $(patsubst %.c,$(BUILD)/%.o,$(filter-out server/main.c,$(wildcard server/*.c)))
test_obj := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/core/*.c tests/api/*.c tests/server/*.c))
ref_obj := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/ref/*.c))
libs := $(BUILD)/libserver.a $(BUILD)/libapi.a $(BUILD)/libcore.a

$(BUILD)/dikkat: $(BUILD)/server/main.o $(libs)
	$(CC) $(CFLAGS) -o $@ $^ $(LIBS)
$(BUILD)/libcore.a: $(core_obj)
$(BUILD)/libapi.a: $(api_obj)
$(BUILD)/libserver.a: $(server_obj)
$(libs):
	rm -f $@ && ar rcs $@ $^
$(BUILD)/%.f64.o: %.real.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(BUILD)/%.f32.o: %.real.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -DATTN_SINGLE $(CFLAGS) -c -o $@ $<
$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
-include $(wildcard $(BUILD)/*/*.d $(BUILD)/*/*/*.d)
