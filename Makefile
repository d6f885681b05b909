# gritvq: make help lists the targets.
export GOTOOLCHAIN := go1.27.3
export GOEXPERIMENT := simd

GO ?= go
# The system's own interpreter: Debian's torch and faiss live there.
PYTHON ?= /usr/bin/python3
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.14.0

.DEFAULT_GOAL := help
.PHONY: help build demo demo-images demo-rec test test-interop test-python wheel release-files release-dry lint bench bench-peers faiss sentences bench-vectors fuzz race torture

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/gritvq
	$(GO) build -trimpath -o bin/gritvq ./cmd/gritvq

demo: build ## compare GRIT with its rivals on built-in data, in about two minutes
	bin/gritvq demo -o demo

demo-images: build ## a tokenizer and a prior of built-in pictures, new pictures and a page, in under six minutes
	bin/gritvq demo pictures -o demo-images

SHOP = 'synthetic:shop?users=3000&items=600'
demo-rec: build ## semantic IDs and a recommender on a built-in shop, in under five minutes
	bin/gritvq ids $(SHOP) -o demo-rec/ids --force --codes 32 --levels 3 --hidden none --steps 400
	bin/gritvq recommend train demo-rec/ids $(SHOP) -o demo-rec/rec --model generative --force --steps 1200 --batch 128 --set model.layers=2 --set model.width=64 \
	  --set model.feed_forward=256 --set model.heads=4 --set model.head_dim=16 --set model.history=8 --set train.optimizer.rate=0.003 --set validation_users=500
	bin/gritvq recommend eval demo-rec/rec $(SHOP) --beam 20
	bin/gritvq recommend ask demo-rec/rec --history item17,item44,item5 -k 5

test: ## vet, test and cross-build everything
	$(GO) vet ./...
	$(GO) test -timeout 14m ./...
	CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/gritvq
	GOEXPERIMENT= $(GO) build -o /dev/null ./cmd/gritvq
	GOARCH=arm64 $(GO) vet ./...
	GOOS=windows $(GO) vet ./...
	@if test -x $(INTEROP); then $(MAKE) --no-print-directory test-python; \
	else echo "SKIPPED: the tests against FAISS, ONNX Runtime, TensorBoard and NumPy. make test-interop installs and runs them."; fi
	@test -d $(WEB) || echo "SKIPPED: the tests with ONNX Runtime for the web. make test-interop installs and runs them where there is Node.js."

INTEROP := build/interop/bin/python
WEB := build/web/node_modules/onnxruntime-web
test-interop: $(INTEROP) ## test exported files with their real readers: FAISS, ONNX Runtime, also for the web, TensorBoard
	@if command -v node >/dev/null && command -v npm >/dev/null; then $(MAKE) --no-print-directory $(WEB); \
	else echo "SKIPPED: the tests with ONNX Runtime for the web; install Node.js with npm"; fi
	GRITVQ_INTEROP=required $(GO) test -count=1 -run Interop ./...
	$(MAKE) test-python

$(WEB): internal/interop/package.json
	mkdir -p build/web && cp internal/interop/package.json build/web
	npm install --prefix build/web --no-audit --no-fund --no-package-lock --loglevel error
	@touch $@

$(INTEROP): internal/interop/requirements.txt
	python3 -m venv build/interop
	build/interop/bin/pip install -q -r internal/interop/requirements.txt
	@touch $@

PYTEST := -m pytest -q -p no:cacheprovider python/tests
test-python: build $(INTEROP) wheel ## test the Python package against the program, and its wheel beside NumPy alone
	GRITVQ=$(CURDIR)/bin/gritvq PYTHONPATH=python PYTHONDONTWRITEBYTECODE=1 $(INTEROP) $(PYTEST)
	@if $(PYTHON) -c 'import torch, pytest' 2>/dev/null; then \
	  GRITVQ=$(CURDIR)/bin/gritvq PYTHONPATH=python PYTHONDONTWRITEBYTECODE=1 $(PYTHON) $(PYTEST) -k "torch or nn"; \
	else echo "SKIPPED: the tests with PyTorch; $(PYTHON) lacks torch or pytest, on Debian: apt-get install python3-torch python3-pytest"; fi
	rm -rf build/empty && python3 -m venv build/empty
	build/empty/bin/pip install -q numpy build/wheel/gritvq-*.whl
	cd build/empty && bin/python -c 'import gritvq; print(gritvq.Tokenizer.load("../../testdata/stored/vectors"))'

wheel: $(INTEROP) ## build/wheel: the Python package
	rm -rf build/wheel build/python-source && cp -r python build/python-source
	$(INTEROP) -m pip wheel -q --no-deps --no-build-isolation -w build/wheel build/python-source
	@ls build/wheel

# The newest version whose modules the module proxy has.
GORELEASER := github.com/goreleaser/goreleaser/v2@v2.13.0
release-files: build ## build/release: manual pages, shell completions and the program that lists modules
	rm -rf build/release && mkdir -p build/release/completions
	bin/gritvq man build/release/man
	$(GO) build -o build/release/sbom ./internal/sbom
	for shell in bash zsh fish powershell; do bin/gritvq completion $$shell >build/release/completions/gritvq.$$shell || exit 1; done

RELEASE := $(foreach os,linux darwin windows,$(foreach arch,amd64 arm64,$(os)/$(arch)))
release-dry: ## build/dist: the archives, checksums and SBOMs of a release, and its image; publishes nothing
	@if GOEXPERIMENT= $(GO) run $(GORELEASER) --version >/dev/null 2>&1; then \
	  GOEXPERIMENT= $(GO) run $(GORELEASER) release --snapshot --clean --skip=publish && ls -l build/dist; \
	else echo "SKIPPED: archives, checksums and SBOMs; goreleaser cannot be fetched here. Only the programs are built."; \
	  $(MAKE) release-files && for target in $(RELEASE); do echo $$target; \
	  CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} $(GO) build -trimpath -o build/dist/$$target/ ./cmd/gritvq || exit 1; done; fi
	@if docker info >/dev/null 2>&1; then docker build -q -t gritvq:dry . && docker run --rm gritvq:dry version; \
	else echo "SKIPPED: the image of the Dockerfile; no Docker daemon answers here"; fi
fuzz: ## run every fuzz target: FUZZ=20000x each, FUZZ=10m for longer, TARGET=codes for some
	.ci/fuzz

torture: ## 500 faults (TORTURE=N) in commands that write: signals, full disks, two at once, little memory, damaged input
	GRITVQ_TORTURE=$(or $(TORTURE),500) $(GO) test -count=1 -timeout 3h -run '^TestTorture$$' -v ./cmd/gritvq

# The engine's vector loads compute addresses past the end of slices, which are padded (internal/padding) and which the race
# detector's check of pointers refuses. All packages but those whose tests only train, which the race detector slows down to hours.
ONLY_TRAIN := /(train/vqtrain|lab/.*|bench|task/recommend|task/tokenize|task/prior|task/catalogue|cmd/gritvq)$$
race: ## the tests of packages with goroutines of their own, under the race detector (needs a C compiler)
	packages=$$($(GO) list ./... | grep -v -E '$(ONLY_TRAIN)') && \
	CGO_ENABLED=1 $(GO) test -race -gcflags=github.com/gomlx/compute/...=-d=checkptr=0 -short -timeout 60m $$packages

lint: ## gofmt and golangci-lint with staticcheck (fetched once; skipped where it cannot be)
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "these files need gofmt"; exit 1; }
	@if $(GO) run $(GOLANGCI) version >/dev/null 2>&1; then $(GO) run $(GOLANGCI) run --allow-parallel-runners ./...; \
	else echo "golangci-lint cannot be fetched here: skipped"; fi

bench: ## the Go benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

bench-peers: ## compare speed with PyTorch and FAISS, in one table
	@if ! $(PYTHON) -c 'import torch, faiss' 2>/dev/null; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -q && apt-get install -y --no-install-recommends python3-torch python3-faiss libopenblas0-pthread; \
	  else echo "install PyTorch and FAISS first, on Debian: apt-get install python3-torch python3-faiss libopenblas0-pthread"; exit 1; fi; fi
	@{ command -v cwebp && command -v cjpeg; } >/dev/null || if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get install -y --no-install-recommends webp libjpeg-turbo-progs; fi
	$(GO) run ./bench speed -python $(PYTHON)

faiss: build/faiss/bin/python ## a virtual environment with FAISS, for bench-vectors
build/faiss/bin/python: lab/vectors/requirements.txt
	python3 -m venv build/faiss
	build/faiss/bin/pip install -q -r lab/vectors/requirements.txt
	@touch $@

sentences: build/sentences/bin/python ## a virtual environment for lab/table/recommendation/sentence_vectors.py
build/sentences/bin/python: lab/table/recommendation/requirements.txt
	python3 -m venv build/sentences
	build/sentences/bin/pip install -q --no-deps -r lab/table/recommendation/requirements.txt
	@touch $@

bench-vectors: faiss ## errors of vectors beside FAISS; GRITVQ_DATA names the data
	$(GO) run ./bench vectors
