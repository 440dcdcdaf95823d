# Every target can run on its own. `make ci` runs what the checks run.

GO ?= go
TOOL := $(GO) tool -modfile=tools/go.mod
BIN ?= turnback
# Flags for go test: make test TESTFLAGS='-run TestList -v'
TESTFLAGS ?=
FUZZTIME ?= 10s
SOAK ?= 1000
# Packages in which goroutines or processes meet.
RACE := ./checkpoint/... ./conversation/session/... ./internal/agentstate/... ./internal/api/... ./internal/coder/tool/... \
	./internal/config/... ./internal/connect/... ./internal/conversations/... ./internal/daemon/... ./internal/files/... \
	./internal/mcp/... ./internal/proxy/... ./internal/registry/... ./internal/restore/... \
	./internal/snapshot/... ./internal/testutil/... ./internal/turns/... ./internal/xec/...

.PHONY: faults build test race lint fmt fmt-check script fuzz soak bench e2e ci golden

build: ## the program, as ./turnback, and the one of its agent beside it
	CGO_ENABLED=0 $(GO) build -ldflags=-s -o $(BIN) ./cmd/turnback
	CGO_ENABLED=0 $(GO) build -ldflags=-s -o $(dir $(BIN))turnback-agent ./cmd/turnback-agent

test: ## every test but the end-to-end ones
	$(GO) test -timeout 20m $(TESTFLAGS) ./...

race: ## the concurrent packages under the race detector
	$(GO) test -race -short -timeout 20m $(TESTFLAGS) $(RACE)

lint: fmt-check ## vet for each system, and staticcheck
	$(GO) vet -tags e2e ./...
	GOOS=darwin $(GO) vet ./...
	GOOS=windows $(GO) vet ./...
	$(TOOL) staticcheck -tags e2e ./...

fmt: ## rewrites the source
	$(TOOL) gofumpt -w $$(git ls-files --cached --others --exclude-standard '*.go')

fmt-check:
	@unformatted=$$($(TOOL) gofumpt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not formatted (make fmt):" $$unformatted; exit 1; fi

script: ## the txtar scripts: the program as a person runs it
	$(GO) test -run '^TestProgram' $(TESTFLAGS) ./cmd/turnback

golden: ## rewrites the golden files; read the diff before you keep it
	$(GO) test ./internal/cli -update

fuzz: ## every fuzz test, FUZZTIME each
	tools/fuzz $(FUZZTIME)

soak: ## new random histories for the tests that nothing is lost and that saves are right; SOAK of each
	$(GO) test -timeout 0 -count=1 -run 'NothingIsLost|OraclesTree' $(TESTFLAGS) ./test/noloss ./internal/snapshot \
		-rapid.checks=$(SOAK) -rapid.seed=$$(date +%s)

faults: ## breaks git, the disk and the process at every place, not at a part of them
	$(GO) test -timeout 0 -count=1 $(TESTFLAGS) ./test/fault -fault.every

bench: ## prints ratios, see bench/
	$(GO) run ./bench

e2e: build ## the real Claude Code, Codex, OpenCode, pi and oh-my-pi against scripted models
	claude=$$(tools/agent claude) && codex=$$(tools/agent codex) && opencode=$$(tools/agent opencode) && pi=$$(tools/agent pi) && \
	{ omp=$$(tools/agent omp) || omp=; } && TURNBACK_E2E_BIN=$(abspath $(BIN)) TURNBACK_E2E_CLAUDE=$$claude TURNBACK_E2E_CODEX=$$codex \
	TURNBACK_E2E_OPENCODE=$$opencode TURNBACK_E2E_PI=$$pi TURNBACK_E2E_OMP=$$omp \
		$(GO) test -tags e2e -count=1 $(TESTFLAGS) ./test/e2e

ci:
	.ci/run
