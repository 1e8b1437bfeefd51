# procpen: `make` builds build/procpen and nothing else. See README.md and docs/hacking.md.
#
#   make VARIANT=asan     the same with the sanitizers, in build/asan
#   make LINK=shared      the C library, libev, libseccomp, jansson, nettle and PCRE2 as shared ones
#   make CROSS=aarch64-linux-gnu  the same for another machine, in build/aarch64
#   make install          program, man pages, completions, docs, into PREFIX=/usr/local below DESTDIR
#   make uninstall        removes just these
#   make check            installs what the tests need, then runs them (STAGES="unit wire" picks)
#   make builds           other compilers, flags, C libraries and machines
#   make conformance      official MCP suite and clients (from npm) against procpen
#   make hosts            real agent hosts (from npm), offline, with procpen as their server
#   make bench-peers      procpen beside other programs of its kind (from npm)
#   make static deb       packages, see docs/install.md; make packages tests them all
#   make release VERSION= all of them, and make dist the sources
#   make demo             installs what the build needs, then plays a session; demo-svg records it

VARIANT ?= release
LINK ?= static
CC ?= cc
HOSTCC ?= cc
PKG_CONFIG ?= pkg-config
PYTHON ?= /usr/bin/python3
PREFIX ?= /usr/local
# That of the compiler knows the target; STRIP=true keeps the symbols.
STRIP ?= $(shell $(CC) -print-prog-name=strip)
WERROR ?= -Werror
STAGES ?=
V ?= 0

# V=1 shows whole command lines.
Q := $(if $(filter 1,$(V)),,@)
quiet := $(findstring s,$(firstword -$(MAKEFLAGS)))
say = $(if $(filter 1,$(V))$(quiet),@:,@echo '  $(1)  $@')

B := build
# For another machine, below build/MACHINE: Debian's cross compiler, its libraries for that machine, and
# an emulator for what the build has to run.
ifneq ($(CROSS),)
CROSS_MACHINE := $(firstword $(subst -, ,$(CROSS)))
CROSS_ROOT := build/cross/$(CROSS_MACHINE)
CC := $(CROSS)-gcc --sysroot=$(CROSS_ROOT) -B$(CROSS_ROOT)/usr/lib/$(CROSS)
B := build/$(CROSS_MACHINE)
EMULATOR ?= $(notdir $(shell command -v qemu-$(CROSS_MACHINE)-static))
export PKG_CONFIG_SYSROOT_DIR := $(CURDIR)/$(CROSS_ROOT)
export PKG_CONFIG_LIBDIR := $(CURDIR)/$(CROSS_ROOT)/usr/lib/$(CROSS)/pkgconfig
# Empty, and there when all is: make starts anew then, and tries out the compiler with these.
include $(CROSS_ROOT)/complete
$(CROSS_ROOT)/complete:
	@CROSS=$(CROSS) $(PYTHON) packaging/package.py cross-libraries
endif
EMULATOR ?=
O := $(B)/$(VARIANT)

# --- flags ------------------------------------------------------------------

WARNINGS := -Wall -Wextra -Wshadow -Wcast-qual -Wstrict-prototypes -Wmissing-prototypes \
	-Wformat=2 -Wundef -Wvla -Wimplicit-fallthrough -Wpointer-arith -Wwrite-strings $(WERROR)
DEFINES := -D_GNU_SOURCE
INCLUDES := -Isrc -I$(B)/include
# No byte of what is built tells where. PWD: through a symbolic link it is not CURDIR.
HERE := '-ffile-prefix-map=$(CURDIR)=.'
export PWD := $(CURDIR)

comma := ,
# $(call probe,FLAG): FLAG if the compiler takes it.
probe = $(shell echo 'int main(void) { return 0; }' | \
	$(CC) -Werror $(1) -x c - -o /dev/null 2>/dev/null && echo '$(1)')

ifeq ($(VARIANT),release)
OPT := -O2 -g
HARDEN := $(call probe,-fstack-protector-strong) $(call probe,-fstack-clash-protection) \
	$(call probe,-fcf-protection) -U_FORTIFY_SOURCE \
	-D_FORTIFY_SOURCE=$(if $(call probe,-O2 -D_FORTIFY_SOURCE=3 -include limits.h),3,2)
HARDEN_LD := -Wl,-z,relro,-z,now $(call probe,-Wl$(comma)-z$(comma)noexecstack)
else ifeq ($(VARIANT),asan)
OPT := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
else ifeq ($(VARIANT),debug)
OPT := -O0 -g
else
$(error VARIANT is one of release, asan, debug)
endif

ALL_CPPFLAGS = $(DEFINES) $(INCLUDES) $(CPPFLAGS)
ALL_CFLAGS = -std=c11 $(OPT) $(HERE) -fPIE $(HARDEN) $(WARNINGS) $(CFLAGS) $(LIB_CFLAGS)
# gcc warns at every link that plain -flto works on one part after the other.
ALL_LDFLAGS = $(OPT) $(HERE) $(PIE) $(HARDEN_LD) $(patsubst -flto,-flto=auto,$(CFLAGS)) $(LDFLAGS)

LIB_CFLAGS := $(shell $(PKG_CONFIG) --cflags jansson libseccomp nettle libpcre2-8 2>/dev/null)
# Some builds of libev need it; if ours does not, no start has to load it.
LIBM := -Wl,--as-needed -lm -Wl,--no-as-needed
LIB_NAMES := -lev -lseccomp -ljansson -lnettle -lpcre2-8
LIBS := $(LIB_NAMES) $(LIBM)
UNIT_LIBS := $(LIBS)
PIE := -pie
ifeq ($(LINK),static)
UNIT_LIBS := -Wl,-Bstatic $(LIB_NAMES) -Wl,-Bdynamic $(LIBM)
# The C library too where it can be, which the sanitizers do not allow: without the dynamic loader
# a start takes three quarters of the time.
PIE := $(if $(filter asan,$(VARIANT)),-pie,$(or $(call probe,-fPIE -static-pie),-pie))
ifeq ($(PIE),-pie)
LIBS := $(UNIT_LIBS)
else
PACK := -Wl,-z,pack-relative-relocs
PIE := -static-pie $(and $(call probe,-fPIE -static-pie -Wl$(comma)--fatal-warnings $(PACK)),$(PACK))
endif
endif

# --- sources ----------------------------------------------------------------

# Everything but the generator, the shim's own program (it shares one file) and main().
SOURCES := $(sort $(wildcard src/*/*.c src/*/*/*.c))
SOURCES := $(filter-out src/gen/% src/os/shim/% src/cli/main.c,$(SOURCES)) src/os/shim/procread.c
GEN_NAMES := errors config caps cli
GEN_HEADERS := $(GEN_NAMES:%=$(B)/include/gen/%.h)
GEN_SOURCES := $(GEN_NAMES:%=$(B)/gen/%.c) $(B)/gen/blocklist.c $(B)/gen/blocklist_examples.c \
	$(B)/gen/packs.c $(B)/gen/openrpc.c $(B)/gen/strtab.c

OBJECTS := $(SOURCES:src/%.c=$(O)/%.o) $(GEN_NAMES:%=$(O)/gen/%.o) $(O)/gen/blocklist.o $(O)/gen/packs.o \
	$(O)/gen/openrpc.o $(O)/gen/strtab.o
MAIN := $(O)/cli/main.o
ARCHIVE := $(O)/libprocpen.a

UNIT_SOURCES := $(sort $(wildcard tests/unit/test_*.c))
UNIT_PROGRAMS := $(UNIT_SOURCES:tests/unit/%.c=$(O)/tests/%)
HOSTILE := $(patsubst tests/hostile/%.c,$(B)/tests/%,$(wildcard tests/hostile/*.c))

# What packaging/ can make out of the installed program, see docs/install.md.
PACKAGES := static deb npm mcpb oci oci-debian server-json sbom notices debian-base

.DELETE_ON_ERROR:
.PHONY: FORCE all demo demo-svg check builds stress bench bench-peers fuzz lint docs completions golden unit tests fixture conformance \
	hosts clean install uninstall stage $(PACKAGES) packages dist release

all: $(if $(filter release,$(VARIANT)),$(B)/procpen,$(O)/procpen) $(O)/examples.checked completions

# --- the generator: schema/ -> tables, tools/list, reference -------------------

GEN := $(B)/host/procpen-gen
GEN_TOOL_BASE := buf log mem quantity utf8
GEN_TOOL_SOURCES := $(filter-out src/gen/examples.c,$(sort $(wildcard src/gen/*.c))) \
	$(GEN_TOOL_BASE:%=src/base/%.c)

$(GEN): $(GEN_TOOL_SOURCES) src/gen/gen.h src/base/str.h src/base/version.h $(GEN_TOOL_BASE:%=src/base/%.h)
	@$(PKG_CONFIG) --print-errors --exists 'jansson >= 2.14' libseccomp nettle libpcre2-8 || { \
		echo "Libraries are missing or too old; '.ci/deps build' installs them." >&2; exit 1; }
	@mkdir -p $(@D)
	$(call say,HOSTCC)
	$(Q)$(HOSTCC) $(DEFINES) $(INCLUDES) -std=c11 -O1 -g $(WARNINGS) $(GEN_TOOL_SOURCES) -o $@ \
		-ljansson

# Newer than what is made of these files when one has come or gone.
FILES := $(sort $(wildcard schema/*.json schema/packs/*.json)) $(SOURCES)

$(B)/files: FORCE
	@mkdir -p $(@D)
	@echo '$(FILES)' | cmp -s - $@ || echo '$(FILES)' > $@

FORCE:

$(B)/gen/stamp: $(GEN) $(B)/files $(sort $(wildcard schema/*.json schema/packs/*.json))
	@mkdir -p $(@D)
	$(call say,GEN   )
	@rm -rf $(B)/gen/man
	$(Q)$(GEN) schema $(B)
	@touch $@

# The generator leaves a file alone that would not change: no needless compiling.
GEN_DOCS := reference.md packs.md openrpc.json
GEN_COMPLETE := $(addprefix $(B)/gen/complete.,bash zsh fish)

$(GEN_HEADERS) $(GEN_SOURCES) $(GEN_DOCS:%=$(B)/gen/%) $(GEN_COMPLETE): $(B)/gen/stamp
	@:

# Tables and the code that uses them.
COMPLETIONS := $(addprefix $(B)/completions/,procpen _procpen procpen.fish)

$(B)/completions/procpen: $(B)/gen/complete.bash src/gen/complete.bash
$(B)/completions/_procpen: $(B)/gen/complete.zsh src/gen/complete.zsh
$(B)/completions/procpen.fish: $(B)/gen/complete.fish src/gen/complete.fish
completions: $(COMPLETIONS)
$(COMPLETIONS):
	@mkdir -p $(@D)
	$(call say,GEN   )
	$(Q)cat $^ > $@

docs: $(GEN_DOCS:%=$(B)/gen/%)
	$(Q)for page in $(GEN_DOCS); do \
		cmp -s $(B)/gen/$$page docs/$$page || \
			{ echo "  COPY    docs/$$page"; cp $(B)/gen/$$page docs; } || exit; \
	done

# --- objects and programs -----------------------------------------------------

$(O)/%.o: src/%.c | $(GEN_HEADERS)
	@mkdir -p $(@D)
	$(call say,CC    )
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(O)/gen/%.o: $(B)/gen/%.c | $(GEN_HEADERS)
	@mkdir -p $(@D)
	$(call say,CC    )
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

SHIM := $(B)/procpen-shim

# The shim of a run: no libc, no sanitizer, one static file, carried inside procpen; also
# installed, for hosts where a program cannot be run from a memory file.
SHIM_FLAGS := -std=c11 -Os $(HERE) -ffreestanding -fno-builtin -fno-stack-protector \
	-fno-pic -fno-pie -fno-asynchronous-unwind-tables -fno-unwind-tables -fcf-protection=none \
	-ffunction-sections -fdata-sections
# Its data begins with a page: what each shim writes then takes one page less, wherever the text ends.
SHIM_LDFLAGS := -nostdlib -static -Wl,-Tdata=0x410000 -Wl,--gc-sections,--build-id=none,-z,noexecstack,--sort-section=name \
	-Wl,-z,norelro,-z,noseparate-code -s

SHIM_SOURCES := $(sort $(wildcard src/os/shim/*.c))
SHIM_OBJECTS := $(SHIM_SOURCES:src/%.c=$(B)/shim/%.o)

$(B)/shim/%.o: src/%.c
	@mkdir -p $(@D)
	$(call say,CC    )
	$(Q)$(CC) $(ALL_CPPFLAGS) $(SHIM_FLAGS) $(WARNINGS) -MMD -MP -c $< -o $@

$(SHIM): $(SHIM_OBJECTS)
	$(call say,LINK  )
	$(Q)$(CC) $(SHIM_FLAGS) $^ $(SHIM_LDFLAGS) -o $@

$(O)/os/spawn/shim_image.o: $(SHIM)
$(O)/os/spawn/shim_image.o: DEFINES += -DSHIM_IMAGE=\"$(SHIM)\"

# The server's child shares its memory, the sanitizer's records too, until it executes.
$(O)/os/spawn/child.o: OPT += -fno-sanitize=all

# q, not r: files of two folders may have one name.
$(ARCHIVE): $(OBJECTS) $(B)/files
	@rm -f $@
	$(call say,AR    )
	$(Q)$(AR) qcsD $@ $(OBJECTS)

$(O)/procpen: $(MAIN) $(ARCHIVE)
	$(call say,LINK  )
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS) -o $@

# The examples of schema/blocklist.json are judged as they say, or there is no build; a program for
# another machine needs an EMULATOR for that.
RUNS := $(or $(EMULATOR),$(filter $(shell uname -m)-%,$(shell $(CC) -dumpmachine)))

$(O)/examples: $(O)/gen/examples.o $(O)/gen/blocklist_examples.o $(ARCHIVE)
	$(call say,LINK  )
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS) -o $@

$(O)/gen/examples.o: src/gen/examples.c | $(GEN_HEADERS)
	@mkdir -p $(@D)
	$(call say,CC    )
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(O)/examples.checked: $(O)/examples
	$(Q)$(if $(RUNS),$(EMULATOR) $<,echo '  SKIP    $@: this machine cannot run $<, and no EMULATOR is set')
	@touch $@

$(B)/procpen: $(B)/release/procpen
	$(Q)cp $< $@.new && mv $@.new $@

# --- tests ----------------------------------------------------------------------

$(O)/tests/%: tests/unit/%.c $(ARCHIVE)
	@mkdir -p $(@D)
	$(call say,TEST  )
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -MF $@.d -MT $@ $(ALL_LDFLAGS) $< $(ARCHIVE) \
		$(UNIT_LIBS) -lcmocka -o $@

# Debian has cmocka as a shared library only.
$(UNIT_PROGRAMS): PIE := -pie
# The start of a run is replaced by a recorder; nothing is executed in this test.
$(O)/tests/test_one_verdict: LDFLAGS += -Wl,--wrap=proctab_start
# A plan is sent late.
$(O)/tests/test_pool: LDFLAGS += -Wl,--wrap=sendmsg
# The kernel takes no more watches.
$(addprefix $(O)/tests/test_,limits log_file loop outq pump reaper relay tree): \
	LDFLAGS += -Wl,--wrap=epoll_ctl

$(B)/tests/%: tests/hostile/%.c
	@mkdir -p $(@D)
	$(call say,CC    )
	$(Q)$(CC) -D_GNU_SOURCE -std=c11 -O1 -g $(WARNINGS) $< -o $@

# Builds them; tests/run-all unit builds and runs them.
unit: $(UNIT_PROGRAMS)

# What the filter says to every call, and its table in docs/security.md, written anew.
golden: $(O)/tests/test_seccomp_golden
	PROCPEN_GOLDEN=write $<

# procpen's protocol with the conformance suite's tools, a program of its own: procpen's files, but
# the fixture's in the place of these five. Linked from objects, not from the archive: the linker
# refuses a symbol that two of them define.
FIXTURE_REPLACES := gen/caps mcp/offer mcp/tools mcp/resources mcp/task_runs
FIXTURE_SOURCES := $(sort $(wildcard tests/conformance/fixture/*.c))
FIXTURE_OBJECTS := $(FIXTURE_SOURCES:tests/conformance/%.c=$(O)/%.o)
FIXTURE_LINKED := $(FIXTURE_OBJECTS) $(MAIN) $(filter-out $(FIXTURE_REPLACES:%=$(O)/%.o),$(OBJECTS))

$(O)/fixture/%.o: tests/conformance/fixture/%.c | $(GEN_HEADERS)
	@mkdir -p $(@D)
	$(call say,CC    )
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(B)/procpen-fixture: $(FIXTURE_LINKED) $(B)/files
	$(call say,LINK  )
	$(Q)$(CC) $(ALL_LDFLAGS) $(FIXTURE_LINKED) $(LIBS) -o $@

fixture: $(B)/procpen-fixture

# Everything the stages of tests/run-all run.
tests: all $(HOSTILE)
	$(MAKE) --no-print-directory VARIANT=asan all unit

check:
	.ci/deps test
	tests/run-all $(STAGES)

builds:
	.ci/deps builds
	tests/builds

stress:
	.ci/deps test
	STRESS=1 tests/run-all $(STAGES)

packages:
	.ci/deps packages
	tests/run-all $@

conformance hosts:
	.ci/deps test
	tests/run-all $@

# It looks at the objects too.
lint: $(OBJECTS) $(MAIN) $(GEN_DOCS:%=$(B)/gen/%) completions
	tests/lint

bench:
	.ci/deps build
	$(MAKE) --no-print-directory all
	tests/bench/run

bench-peers: all
	$(PYTHON) tests/bench/peers.py

# The shell parser and the verdict under libFuzzer; FUZZ_SECONDS=60. Needs clang.
FUZZ_SOURCES := $(wildcard src/base/*.c src/shell/*.c src/blocklist/*.c src/blocklist/*/*.c) \
	$(B)/gen/errors.c $(B)/gen/blocklist.c $(B)/gen/strtab.c

$(B)/fuzz/fuzz_shell: tests/fuzz/fuzz_shell.c $(FUZZ_SOURCES) $(wildcard src/shell/*.h src/blocklist/*.h src/blocklist/*/*.h) | $(GEN_HEADERS)
	@mkdir -p $(@D)
	$(call say,FUZZ  )
	$(Q)clang $(DEFINES) $(INCLUDES) -std=c11 -O1 -g -fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=all $(LIB_CFLAGS) $(filter %.c,$^) -o $@ -ljansson -lnettle -lpcre2-8

fuzz:
	@if command -v clang > /dev/null; then \
		$(MAKE) --no-print-directory $(B)/fuzz/fuzz_shell && tests/fuzz/run $(B)/fuzz/fuzz_shell; \
	else \
		echo "SKIP fuzz: clang is not installed"; echo "0 passed, 0 failed, 1 skipped"; \
	fi

demo:
	@.ci/deps build
	@echo "Building build/procpen ..."
	@$(MAKE) --no-print-directory all >/dev/null
	@PROCPEN=$(B)/procpen $(PYTHON) docs/demo.py

# The picture in README.md: a recording of the same.
demo-svg: all
	PROCPEN=$(B)/procpen $(PYTHON) docs/demo.py --svg docs/demo.svg

# --- the rest ---------------------------------------------------------------------

# mode:folder below PREFIX:files
INSTALLED := \
	755:bin:$(B)/procpen \
	755:libexec:$(SHIM) \
	644:share/man/man1:$(B)/gen/man/*.1 \
	644:share/man/man5:$(B)/gen/man/*.5 \
	644:share/man/man7:$(B)/gen/man/*.7 \
	644:share/bash-completion/completions:$(B)/completions/procpen \
	644:share/zsh/site-functions:$(B)/completions/_procpen \
	644:share/fish/vendor_completions.d:$(B)/completions/procpen.fish \
	644:share/procpen:$(B)/gen/openrpc.json \
	644:share/procpen/schema:schema/*.json \
	644:share/procpen/schema/packs:schema/packs/*.json \
	644:share/doc/procpen:README.md \
	644:share/doc/procpen:LICENSE \
	644:share/doc/procpen:CHANGELOG.md \
	644:share/doc/procpen:SECURITY.md \
	644:share/doc/procpen/docs:docs/*.md \
	644:share/doc/procpen/docs:docs/openrpc.json \
	644:share/doc/procpen/docs:docs/*.svg \
	644:share/doc/procpen/docs/samples:docs/samples/*.*
# Folders of nobody else, the inner ones first.
INSTALLED_FOLDERS := $(addprefix share/,doc/procpen/docs/samples doc/procpen/docs doc/procpen \
	procpen/schema/packs procpen/schema procpen)

# $(call each_installed,COMMAND): for each $$file, which goes to $$to with $$mode.
define each_installed
set -e; for entry in $(INSTALLED); do \
	mode=$${entry%%:*}; folder=$${entry#*:}; folder=$${folder%%:*}; \
	for file in $${entry##*:}; do \
		to="$(DESTDIR)$(PREFIX)/$$folder/$${file##*/}"; $(1); \
	done; \
done
endef

install: all
	$(Q)$(call each_installed,echo "  INSTALL $$to"; install -D -m $$mode $$file "$$to")
	$(Q)$(STRIP) "$(DESTDIR)$(PREFIX)/bin/procpen"

# The generator tells the names of the man pages.
uninstall: $(B)/gen/stamp
	$(Q)$(call each_installed,echo "  REMOVE  $$to"; rm -f "$$to")
	$(Q)for folder in $(INSTALLED_FOLDERS); do \
		rmdir "$(DESTDIR)$(PREFIX)/$$folder" 2>/dev/null || :; \
	done

stage: all
	@rm -rf $(B)/stage
	@$(MAKE) --no-print-directory -s install DESTDIR=$(B)/stage PREFIX=/usr > $(B)/stage.log

$(PACKAGES): stage
	$(Q)B=$(B) OUT=$(OUT) CROSS=$(CROSS) $(PYTHON) packaging/package.py $@

dist:
	$(Q)B=$(B) $(PYTHON) packaging/package.py $@

# Every package, the same bytes from the same commit; VERSION= says that you mean this version, and
# WITHOUT=oci-debian leaves a kind out. MACHINES=aarch64-linux-gnu adds packages for others.
release: stage
	$(Q)B=$(B) VERSION=$(VERSION) WITHOUT='$(WITHOUT)' MACHINES='$(MACHINES)' \
		$(PYTHON) packaging/package.py $@

clean:
	rm -rf $(B)

-include $(OBJECTS:.o=.d) $(SHIM_OBJECTS:.o=.d) $(MAIN:.o=.d) $(O)/gen/examples.d $(O)/gen/blocklist_examples.d \
	$(UNIT_PROGRAMS:%=%.d) $(FIXTURE_OBJECTS:.o=.d)
