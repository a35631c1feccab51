# SPDX-License-Identifier: Apache-2.0
# Everything a fresh machine lacks is installed by scripts/need.

GO ?= go
export CGO_ENABLED = 0
TOOL = $(GO) tool -modfile=tools/go.mod
FUZZ ?= 30000
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo development)

.PHONY: all build run test unit lab lab-test lab-agreement lab-cost fuzz lint generate check-generated bench clean

all: build

# One static binary; only Go is needed.
build:
	$(GO) build -trimpath -ldflags '-s -w -X main.release=$(VERSION)' -o bin/iowitness ./cmd/iowitness

# The live view for ten seconds, on the machine's real I/O.
run: build
	scripts/as-root bin/iowitness --for 10s

# All there is: unit tests, tests that load the real programs into the running
# kernel and into others in virtual machines, fuzz targets with some inputs
# each, lint, regenerate and compare.
test: lint check-generated unit lab-test fuzz

# One package at a time: they measure what others would disturb.
unit:
	scripts/need test
	scripts/as-root env "PATH=$$PATH" $(GO) test -count=1 -p 1 -timeout 15m ./...

# Tests on real kernels in virtual machines: make lab KERNEL=6.1 TEST=./probe/... RUN=TestReads
# Without KERNEL all lines of kernels that are served, which is the matrix.
KERNEL ?=
TEST ?= ./kmod ./probe/... ./kernel/... ./cmd/iowitness
RUN ?=
lab:
	scripts/need lab
	$(GO) run ./lab/run $(foreach k,$(KERNEL),--kernel $(k)) $(if $(RUN),--run '$(RUN)') $(TEST)

# The part of the matrix that each change has to pass, in some ten minutes: on 6.1
# and 6.12, and on the other lines that are served.
EACH = EntryAndReturn.*|ASilentUserSideClosesTheGate|FactsOf.*|SymbolsOf.*|ModuleTellsTheDevicesDelay|TracefsTellsTheDevicesDelay|ReadsAreCountedExactly|MissesAreShown|FaultKill|EachReadIsOneRequest|PhasesAreTheDevices|ErrorsAndRequeues|CallsAreCountedExactly|ProfilersOfEachKind|ACPUThatCannotBeInterruptedIsFound|CallsOfAFunctionAreCounted|NoCallIsTakenForAnother|AnIdleCPUIsNot.*|ErrorsNamesWhoRefusesAProgram
lab-test:
	scripts/need lab
	$(GO) run ./lab/run --short --quiet --require 6.1,6.12 $(foreach k,$(KERNEL),--kernel $(k)) --run '^Test($(EACH))$$' ./probe ./kernel ./kmod ./cmd/iowitness

# How the means agree on each kernel and what they cost: prints it, and writes
# docs/KERNELS.md and the format files of events anew.
FACTS ?= bin/facts.json
lab-agreement:
	scripts/need lab
	mkdir -p $(dir $(FACTS))
	$(GO) run ./lab/run --quiet --timeout 90m --facts $(FACTS) $(foreach k,$(KERNEL),--kernel $(k)) --run '$(or $(RUN),^(TestMeansAgree|TestMeansAgreeAtOnce|TestMissedReturnsAreShown|TestFormatsOfThisKernel|TestFunctionsOfThisKernel)$$)' ./probe
	$(GO) run ./lab/report -o docs/KERNELS.md -formats probe/testdata/formats $(FACTS)

# What a call of a function costs under each means and other programs: writes docs/CALLCOST.md.
COST_FACTS ?= bin/callcost.json
lab-cost:
	scripts/need lab
	scripts/need bench
	mkdir -p $(dir $(COST_FACTS))
	$(GO) run ./lab/run --quiet --short --instructions --timeout 40m --facts $(COST_FACTS) $(foreach t,bpftrace funclatency perf,--tool $t) $(foreach k,$(or $(KERNEL),6.1 6.12),--kernel $(k)) --run '^TestACallCosts$$' ./probe
	$(GO) run ./lab/report -calls docs/CALLCOST.md $(COST_FACTS)

fuzz:
	scripts/fuzz $(FUZZ)

lint:
	$(GO) vet ./...
	$(TOOL) staticcheck ./...
	@unformatted=$$($(TOOL) gofumpt -l .); if [ -n "$$unformatted" ]; then echo "not gofumpt-formatted:" $$unformatted; exit 1; fi

generate:
	scripts/need generate
	$(GO) generate ./...

# The committed objects and documents are those that the sources make.
check-generated: generate
	@git diff --exit-code --stat -- probe expr docs view || { echo "regenerated files differ: commit what 'make generate' makes"; exit 1; }

# Cost and accuracy, beside what a user would run instead.
bench: build
	scripts/need bench
	scripts/as-root env "PATH=$$PATH" $(GO) run ./bench

clean:
	rm -rf bin
