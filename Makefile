# Copyright 2026 The flux-landscaper Authors
# SPDX-License-Identifier: Apache-2.0

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Always a semantic version, since charts have no other: by the tag, or v0.0.0-g<commit> where there is none.
VERSION      ?= $(shell git describe --tags --match 'v*' --dirty 2>/dev/null || echo "v0.0.0-g$$(git describe --always --exclude '*' --dirty 2>/dev/null || echo none)")
RACE         ?=
TEST_FLAGS   ?=
TEST_TIMEOUT ?= 45m
PKGS         ?= ./...
# Packages that are tested side by side: their tests wait, and their API servers compute.
JOBS         ?= $(shell echo $$((1 + $$(getconf _NPROCESSORS_ONLN))))
# They begin first, so that no processor waits for them in the end.
LONG_PKGS    := ./deployers/helm ./tests/dataflow ./tests/behaviour ./deployers/container ./deployers/manifest ./deployers/contract ./controllers/installation
SOAK         ?= 3h
BENCH        ?= .
BENCH_FLAGS  ?= -benchtime 1x -timeout 120m
# Tests that promise a time. They keep it on a quiet machine only (tests/pace), so bench runs them alone.
TIMED_TESTS  := ^Test(Soak)?(BadInputFailsAtOnce|AnswersWithinFiveMilliseconds|AnInterruptEnds.*|InterruptEndsThePod|TimeoutEndsThePod|D2AChart.*|DriftIsCorrected.*|Bombs.*|ABombHasLittleTimeAsInstalled|ARenderInAChildCostsAMillisecondAtMost|OthersAreUnaffectedByBombs|PartitionsOnlyDelay|SecretsAreFoundInALogInLittleTime)$$
TIMED_PKGS   := ./tests/behaviour ./tests/e2e/agent ./controllers/webhooks ./deployers/contract ./deployers/manifest ./deployers/helm ./deployers/container ./deployers/resources ./sources/fetch ./confined/rendering
# The database of known vulnerabilities that lint asks for.
GOVULNDB     ?= https://vuln.go.dev
# Flags of tests/soak/bench itself, which its doc.go lists; the other packages do not know them.
BENCH_ARGS   ?=
RUN_FLAGS    ?=
FUZZ         ?= .
# What is released, for which platforms, and how: see make images and make release.
IMAGE_PLATFORMS ?= linux/amd64 linux/arm64
CLI_PLATFORMS   ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
REGISTRY        ?=
PLAIN_HTTP      ?=
KEY             ?=
FUZZ_FLAGS   ?=

BUILD = CGO_ENABLED=0 go build -buildvcs=false -ldflags "$(STRIP) -X main.version=$(VERSION)"
IMAGE_PROGRAMS = $(foreach p,$(IMAGE_PLATFORMS),dist/bin/landscaper_$(subst /,_,$(p)))
CLI_PROGRAMS = $(foreach p,$(CLI_PLATFORMS),dist/bin/flux-landscaper_$(subst /,_,$(p))$(if $(findstring windows,$(p)),.exe))
RELEASE_ARGS = --version "$(VERSION)" --revision "$$(git rev-parse HEAD)" --created "$$(git log -1 --format=%ct)" \
	$(if $(REGISTRY),--push "$(REGISTRY)") $(if $(PLAIN_HTTP),--plain-http) $(if $(KEY),--key "$(KEY)")

# Tools of people read and write the files that they are told to, and what they publish is for everybody; only gosec is told so.
GOSEC_TOOLS := publishing/.*:G122,G301,G302,G304,G306,G703;cmd/flux-landscaper/.*:G301,G304
GO_TOOL := go tool -modfile=tests/platform/tools/generate/go.mod
GOVULNCHECK := go tool -modfile=tests/platform/tools/govulncheck/go.mod govulncheck -db $(GOVULNDB)
HEADER  := tests/quality/header.go.txt
NOTIFICATIONS := paths=github.com/fluxcd/notification-controller/api/v1 paths=github.com/fluxcd/notification-controller/api/v1beta3

# Programs, tests and images are built with the same flags, here and by tests/platform/binaries: what is compiled once serves all, in every checkout.
export GOFLAGS := -trimpath $(filter-out -trimpath,$(shell go env GOFLAGS))

# The race detector needs a C compiler; without one it stays off.
ifeq ($(RACE),)
  export CGO_ENABLED ?= 0
else
  ifneq ($(shell command -v gcc || command -v clang),)
    TEST_FLAGS += -race
  else
    $(info RACE=$(RACE) has no effect: neither gcc nor clang is installed)
  endif
endif

# $(call step,what,command) runs the command and says every 30 seconds that it still runs.
define step
	@echo "==> $(1)"; \
	( nap=; trap 'kill $$nap 2>/dev/null; exit 0' TERM; \
	  while :; do sleep 30 >/dev/null 2>&1 & nap=$$!; wait $$nap; echo "    still: $(1) ($${SECONDS}s)"; done ) & ticker=$$!; \
	trap 'kill $$ticker 2>/dev/null; wait $$ticker 2>/dev/null || true' EXIT; \
	$(2)
endef

# $(call tests,name,arguments of go test,what goes before) runs tests. What failed comes once more at the end: the log of a server may be thousands of lines
# long.
GO_TEST = go test -vet=off -p $(JOBS) -timeout $(TEST_TIMEOUT)
define tests
	@mkdir -p bin
	$(call step,$(1),$(3) $(GO_TEST) $(TEST_FLAGS) $(2) | tee bin/test.log || \
	  { echo "==> what failed:"; grep -E -A 6 '$(FAILURES)' bin/test.log | cut -c 1-600 | head -n 300; exit 1; })
endef
FAILURES := ^ *--- FAIL|^FAIL|Error Trace:|: state of |^panic:|^fatal error:

# Three tiers of tests, by folder and by name (CONTRIBUTING.md): make test leaves out the folders tests/e2e and tests/soak, but for their tests named
# TestGate…, and everywhere else tests named TestE2E… and TestSoak….
GATE      := -skip '^Test(E2E|Soak)' $$packages
GATE_PKGS  = packages=$$(go list $(PKGS) | grep -vE '/tests/(e2e|soak)(/|$$)') || { echo "make test has no package of $(PKGS)"; exit 1; }; \
	packages="$(if $(filter ./...,$(PKGS)),$(LONG_PKGS)) $$packages";
SAMPLES    = $(shell grep -rlE '^func TestGate' --include=*_test.go ./tests/e2e ./tests/soak | xargs -r -n1 dirname | sort -u)
NAMED_E2E  = $(shell grep -rlE '^func TestE2E' --include=*_test.go . | xargs -r -n1 dirname | sort -u)
E2E_PKGS  ?= ./tests/e2e/...

.PHONY: help run test e2e pages soak test-times generate lint scan bench fuzz build images release components clean packages prepare prepare-node prepare-e2e FORCE

help: ## Show this text
	@echo "make <target>, with these targets:"
	@while IFS= read -r line; do \
	  if [[ "$$line" =~ ^([a-z0-9-]+):[^\#]*\#\#[[:space:]](.*)$$ ]]; then printf '  %-12s %s\n' "$${BASH_REMATCH[1]}" "$${BASH_REMATCH[2]}"; fi; \
	done < Makefile

run: ## Show the product: a cluster with Flux, a sample landscape, live progress (RUN_FLAGS=--exit to leave when ready)
	@mkdir -p bin && go build -o bin/demo ./tests/demo && exec bin/demo $(RUN_FLAGS)

test: prepare ## The tests of each change, on real servers (PKGS=./x/..., RACE=1)
	$(call tests,go test,$(GATE),$(GATE_PKGS))
	$(if $(filter ./...,$(PKGS)),$(call tests,samples of e2e and soak,-run '^TestGate' $(SAMPLES)))

e2e: TEST_TIMEOUT := 45m
e2e: scan prepare-e2e ## make scan, and all other tests of features: nodes, fences, agents, environments, releases, notifications (E2E_PKGS=./tests/e2e/x)
	$(call tests,end to end,-skip '^TestGate' $(E2E_PKGS))
	$(if $(filter ./tests/e2e/...,$(E2E_PKGS)),$(call tests,end to end in other folders,-run '^TestE2E' $(NAMED_E2E)))

pages: prepare-e2e ## Do what pages of docs/ say, and write what their commands print into them
	$(call step,pages,go test ./tests/e2e/pages -run '^TestPages' -count=1 -timeout $(TEST_TIMEOUT) -update)

soak: export FLUX_LANDSCAPER_NODE := required
soak: prepare-node prepare-e2e ## What takes hours: deaths at every write, hostile acts, random landscapes, fuzzing, guards, benchmarks (SOAK=3h)
	@go run ./tests/soak -time $(SOAK)

test-times: prepare ## A table of where the time of make test goes, by package
	@mkdir -p bin
	$(call step,go test,$(GATE_PKGS) $(GO_TEST) -count=1 -json -debug-actiongraph=bin/test.graph $(GATE) >bin/test.json || echo "    some failed")
	@go run ./tests/times -events bin/test.json -graph bin/test.graph

lint: ## gofmt, go vet, staticcheck and kube-api-linter
	$(call step,gofmt,files=$$("$$(go env GOROOT)/bin/gofmt" -l .); if [[ -n "$$files" ]]; then echo "run gofmt -w on:"; echo "$$files"; exit 1; fi)
	$(call step,go vet,go vet $(PKGS))
	$(call step,staticcheck,$(GO_TOOL) staticcheck $(PKGS))
	$(call step,kube-api-linter,if go list -C tests/platform/tools/apilinter -deps . >/dev/null 2>&1; then \
	  mkdir -p bin; go build -C tests/platform/tools/apilinter -o $(CURDIR)/bin/apilinter . && bin/apilinter ./api/v1alpha1; \
	  else echo "    NOT RUN: its module cannot be had here"; fi)

scan: ## gosec, govulncheck, deadcode and the command line built for Windows; make e2e begins with it
	$(call step,command line for Windows,CGO_ENABLED=0 GOOS=windows GOARCH=amd64 go build -o /dev/null ./cmd/flux-landscaper)
	$(call step,gosec,go tool -modfile=tests/platform/tools/gosec/go.mod gosec -quiet -exclude-generated -exclude-dir=tests -exclude-rules="$(GOSEC_TOOLS)" ./...)
	$(call step,govulncheck,if $(GOVULNCHECK) -mode=query -json stdlib@go1.26.0 >/dev/null 2>&1; then $(GOVULNCHECK) $(PKGS); \
	  else echo "    NOT RUN: its database cannot be had here; GOVULNDB names another"; fi)
	$(call step,deadcode,dead=$$($(GO_TOOL) deadcode -test ./...) || exit 1; if [[ -n "$$dead" ]]; then echo "nothing calls:"; echo "$$dead"; exit 1; fi)

generate: ## Deepcopy functions, CRDs, the generated parts of docs/ and what a browser loads of the page
	$(call step,deepcopy functions,$(GO_TOOL) controller-gen object:headerFile=$(HEADER) paths=./api/...)
	$(call step,CRDs,$(GO_TOOL) controller-gen crd paths=./api/... output:crd:dir=config/crd/bases)
	$(call step,CRDs of notification-controller for tests,$(GO_TOOL) controller-gen crd $(NOTIFICATIONS) output:crd:dir=tests/e2e/notifications/testdata)
	$(call step,docs,go run ./tests/quality/cmd/docs)
	$(call step,page,go run -C tests/platform/tools/bundle . $(CURDIR)/landscape/page/web $(CURDIR)/landscape/page/assets)

bench: prepare ## The benchmarks (BENCH=regexp, BENCH_FLAGS=..., BENCH_ARGS="-sizes 200")
	@TEST_PACE=exact go test -p 1 -count=1 -timeout 30m -run '$(TIMED_TESTS)' $(TIMED_PKGS)
	$(if $(filter .,$(BENCH)),@TEST_PACE=exact go test -count=1 -timeout 90m -run '^TestNobodyStopsSlowsOrSwells$$' ./tests/soak/tenants)
	@go test ./sources/component ./sources/repository -run '^$$' -bench '$(BENCH)' $(BENCH_FLAGS)
	@go test ./tests/soak/tenants -run '^$$' -bench '$(BENCH)' $(BENCH_FLAGS)
	@go test ./tests/e2e/agent -run '^$$' -bench '$(BENCH)' $(BENCH_FLAGS)
	@go test ./tests/soak/bench -run '^$$' -bench '$(BENCH)' $(BENCH_FLAGS) $(if $(BENCH_ARGS),-args $(BENCH_ARGS))

fuzz: ## Fuzz targets, one after the other under a memory cap (FUZZ=template.FuzzSpiff FUZZ_FLAGS="-time 10m")
	@go run ./tests/soak/fuzz -run '$(FUZZ)' $(FUZZ_FLAGS)

build: ## The binaries, into bin/
	@mkdir -p bin
	@for name in landscaper flux-landscaper; do \
	  echo "==> bin/$$name $(VERSION)"; \
	  $(BUILD) -o "bin/$$name" "./cmd/$$name"; \
	done

images: $(IMAGE_PROGRAMS) ## The images as OCI layout in dist/images (IMAGE_PLATFORMS="linux/amd64", REGISTRY=host/path also pushes)
	@go run ./cmd/release images $(RELEASE_ARGS)

release: $(IMAGE_PROGRAMS) $(CLI_PROGRAMS) ## Everything of a release, in dist/ (VERSION=v1.2.3, KEY=file.pem signs, REGISTRY=host/path also pushes)
	@go run ./cmd/release all $(RELEASE_ARGS)

components: images ## Landscaper and its deployers as component versions, pushed to REGISTRY with their charts and image
	@[[ -n "$(REGISTRY)" ]] || { echo "give the registry to push to: make components REGISTRY=host/path VERSION=v1.2.3"; exit 1; }
	@go run ./cmd/release charts $(RELEASE_ARGS)
	@go run ./cmd/flux-landscaper component push --file charts/components/component-constructor.yaml \
	  --repository "$(if $(PLAIN_HTTP),http://,oci://)$(REGISTRY)/components" $(if $(KEY),--signature release --private-key "$(KEY)") \
	  VERSION="$(VERSION:v%=%)" CHARTS="$(CURDIR)/dist" IMAGE="$(REGISTRY)/landscaper:$(VERSION)"

# dist/bin/<command>_<os>_<architecture>; the go command knows what is to do.
dist/bin/%: STRIP := -s -w
dist/bin/%: FORCE
	@mkdir -p dist/bin; name="$*"; name="$${name%.exe}"; arch="$${name##*_}"; rest="$${name%_*}"; \
	echo "==> $@ $(VERSION)"; GOOS="$${rest##*_}" GOARCH="$$arch" $(BUILD) -o "$@" "./cmd/$${rest%_*}"

FORCE:

prepare: ## The programs that make test needs, built once and kept in the user's cache folder
	@go run ./tests/platform/cmd/prepare

prepare-node: export FLUX_LANDSCAPER_NODE := required
prepare-node: prepare ## Also what a node needs: Debian packages (installed as root), kubelet and scheduler

packages:
	$(call step,packages,go list -export ./... >/dev/null)

prepare-e2e:
	@go run ./tests/platform/cmd/prepare -e2e

clean: ## Remove what make build, make images and make release have made
	@rm -rf bin dist
