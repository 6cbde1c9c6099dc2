# The tasks of a developer. 'make' alone lists them.

# No device is a failure, not a reason to sort on the CPU or to pass over a test.
export WGPU_BCFSORT_REQUIRE_ADAPTER = 1

TARGET = $(abspath $(or $(CARGO_TARGET_DIR),target))
# Mesa complains of each device that it lists, where no login session has set this.
RUNTIME = $(TARGET)/runtime
export XDG_RUNTIME_DIR ?= $(RUNTIME)
# Caches lavapipe's compiled shaders, which take most of the time of the tests on adapters.
export MESA_SHADER_CACHE_DIR ?= $(TARGET)/mesa-shaders

# One selection of packages, so that all of these commands share one build.
TESTS = --locked --workspace --exclude portability
# The test programs of all packages but the one on adapters, which runs beside them, and the one in
# lock-step.
PROGRAMS = $(filter-out crates/portability/%,$(wildcard tests/*/main.rs \
	crates/*/tests/*/main.rs crates/*/tests/*.rs))
OTHERS = $(filter-out gpu lockstep,$(basename $(notdir $(PROGRAMS:%/main.rs=%))))
# What the demo and the figures run. One cargo command: separate ones would resolve other features
# and rebuild the dependencies.
RELEASE = --release --locked -p bcfsort-cli -p wgpu-bcfsort --bin wgpu-bcfsort --examples

.PHONY: help setup demo build-demo test build-tests test-beside-it test-gpu test-lockstep \
	test-others test-all kernels-of-tests \
	portability cross lint \
	package deny advisories api peers figures docs python datafusion ballista web test-web

help: ## list the targets
	@sed -n 's/^\([a-z -]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 28

setup: ## install lavapipe (Debian, Ubuntu) where there is no Vulkan device
	@bash .ci/setup
	@mkdir -p "$(MESA_SHADER_CACHE_DIR)"
	@mkdir -p -m 700 "$(RUNTIME)"

build-demo:
	cargo build $(RELEASE)

demo: setup build-demo ## sort real data and ten million keys on the GPU, verified and timed, and run the examples
	@bash .ci/demo

# Lavapipe compiles one kernel at a time in each process, so the other tests run beside its tests,
# where 'cargo test' would run them one after the other.
test: build-tests ## run every test; a machine without a device fails
	$(MAKE) -j2 test-gpu test-beside-it

build-tests: setup
	cargo fetch --locked --manifest-path crates/wgsl-lockstep/tests/corpus/Cargo.toml
	cargo test $(TESTS) --lib --bins --tests --no-run

test-beside-it:
	$(MAKE) test-others
	$(MAKE) test-lockstep

test-gpu test-lockstep:
	cargo test $(TESTS) --test $(@:test-%=%)

test-others:
	cargo test $(TESTS) --lib --bins $(OTHERS:%=--test %)
	cargo test $(TESTS) --doc

test-all: ## run every test with all of its cases, and the portability gates; note what has passed
	bash .ci/prove all-cases
	bash .ci/prove portability

kernels-of-tests: setup ## make the table of tests/README.md anew, from a run of these tests
	@bash .ci/kernels-of-tests

portability: setup ## examine every kernel as the compilers of Vulkan, Metal, DX12 and browsers do
	@bash .ci/portability
	WGPU_BCFSORT_REQUIRE_GATES=1 cargo test --locked -p portability

cross: ## check the code for Windows, macOS and browsers, as far as compiling goes (needs rustup)
	@bash .ci/cross

lint: ## formatting, clippy and the documentation, warnings denied
	cargo fmt --all --check
	rustfmt --check --edition 2024 fuzz/fuzz_targets/*.rs
	cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo clippy --locked -p wgpu-bcfsort --lib --no-default-features --features vulkan -- -D warnings
	cargo clippy --locked -p wgpu-bcfsort --lib --no-default-features -- -D warnings
	cargo clippy --locked -p wgsl-lockstep --lib -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace --lib --no-deps

# Shares the target directory with the other targets, so nothing is built twice.
package: ## build the crates as they would be published
# (Cargo takes what lies in a registry to be final, also in the one that it makes of our own crates
# for this: the others would be built with the library as it was when it was last packaged here.)
	rm -rf "$${CARGO_HOME:-$$HOME/.cargo}"/registry/src/-*/wgpu-bcfsort-*
	CARGO_TARGET_DIR="$(TARGET)" cargo clean --quiet --locked -p wgpu-bcfsort
	CARGO_TARGET_DIR="$(TARGET)" cargo package --locked --allow-dirty \
		-p wgpu-bcfsort -p bcfsort-auto -p wgsl-lockstep
# (What stands here, down to the next empty line, is no part of how tests are run: .ci/prove.)
.PHONY: announce-demo deny-others advisories-others fuzz
# Before anything is installed or built.
setup: $(and $(filter demo,$(MAKECMDGOALS)),announce-demo)
announce-demo:
	@CARGO_TARGET_DIR="$(TARGET)" bash .ci/demo --announce
fuzz: ## run each fuzz target for FUZZ_SECONDS, by default a minute (needs cargo-fuzz)
	@CARGO_TARGET_DIR="$(TARGET)" bash .ci/fuzz
# The programs that time other sorters: anyone builds them, and nobody gets them. The executor's
# corpus is packages of which only some files are read, so that no licence of theirs binds us. And
# of everything that is linked into a package, the text of its licence must be known.
deny: deny-others
PEERS = $(wildcard benches/peers/*/Cargo.toml)
deny-others:
	for manifest in $(PEERS); do \
		cargo deny --locked --manifest-path $$manifest --config integrations/deny.toml \
			check bans licenses sources || exit 1; \
	done
	cargo deny --locked --manifest-path crates/wgsl-lockstep/tests/corpus/Cargo.toml \
		--config integrations/deny.toml check bans sources
	for package in crates/bcfsort-cli integrations/python integrations/ballista; do \
		.ci/licences $$package/Cargo.toml x86_64-unknown-linux-gnu >/dev/null || exit 1; \
	done
	.ci/licences integrations/datafusion/Cargo.toml x86_64-unknown-linux-gnu --features cli >/dev/null
	.ci/licences integrations/web/planner/Cargo.toml wasm32-unknown-unknown >/dev/null
advisories: advisories-others
advisories-others:
	for manifest in $(PEERS); do \
		cargo deny --locked --manifest-path $$manifest --config deny.toml \
			check advisories || exit 1; \
	done
# (For other platforms: make dist DIST_TARGETS="aarch64-unknown-linux-gnu x86_64-pc-windows-gnu"; of
# some kinds only, or of those that take long, too: DIST_PARTS="wheel sql". See .ci/dist.)
.PHONY: dist
dist: setup ## make what users install (crates, wheel, commands) in target/dist, and check it
	@CARGO_TARGET_DIR="$(TARGET)" DIST_PARTS="$(DIST_PARTS)" bash .ci/dist all $(DIST_TARGETS)
.PHONY: splat bevy
splat: setup ## lint and test the package that finds the draw order of splats
	@CARGO_TARGET_DIR="$(TARGET)" bash .ci/splat
bevy: setup ## lint and test the package for Bevy (the first build takes minutes; needs rustup)
	@CARGO_TARGET_DIR="$(TARGET)" bash .ci/bevy

# The packages with a lock file of their own, whose dependencies are not those of the workspace.
LOCKED = $(wildcard integrations/*/Cargo.toml) fuzz/Cargo.toml

deny: ## licences, duplicates and sources of all dependencies (needs cargo-deny)
	cargo deny --locked --workspace check bans licenses sources
	for manifest in $(LOCKED); do \
		cargo deny --locked --manifest-path $$manifest --config integrations/deny.toml \
			check bans licenses sources || exit 1; \
	done

advisories: ## known vulnerabilities and withdrawn versions in all lock files (needs cargo-deny)
	for manifest in Cargo.toml $(LOCKED); do \
		cargo deny --locked --manifest-path $$manifest --config deny.toml \
			check advisories || exit 1; \
	done

api: ## compare the public API with its list, docs/public-api.txt (needs cargo-public-api)
	@bash .ci/api

python: setup ## install the Python package in a virtual environment, and test it (needs python3)
	@CARGO_TARGET_DIR="$(TARGET)" bash .ci/python

datafusion ballista: setup ## test the package for this engine of SQL (the first build takes long)
	@CARGO_TARGET_DIR="$(TARGET)" bash .ci/sql $@

web: ## build the browser package, and serve its demo (needs npm and rustup)
	@CARGO_TARGET_DIR="$(TARGET)" bash .ci/web --serve

test-web: ## test the browser package in headless Chromium, which it installs (Debian, Ubuntu)
	@mkdir -p -m 700 "$(RUNTIME)"
	@CARGO_TARGET_DIR="$(TARGET)" bash .ci/web

figures: setup build-demo ## redraw the paper's figures from small data sets, into target/figures
	"$(TARGET)/release/wgpu-bcfsort" experiment all --quick --restart --no-peers \
		--out "$(TARGET)/figures"

peers: ## build the programs that time other sorters, to compare with (benches/peers)
	@bash benches/peers/build

docs: ## build the pages of docs/ as a book (needs mdbook)
	mdbook build docs --dest-dir "$(TARGET)/book"
	@printf '%s\n' "$(TARGET)/book/index.html"
