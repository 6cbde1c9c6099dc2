# Everything one does with a clone. 'make' alone lists it.

# No device is a failure, not a reason to sort on the CPU or to pass over a test.
export WGPU_BCFSORT_REQUIRE_ADAPTER = 1
# Mesa complains of each device that it lists, where no login session has set this.
export XDG_RUNTIME_DIR ?= $(CURDIR)

.PHONY: help setup demo test test-adapter test-others portability cross lint package deny peers figures

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

setup: ## install lavapipe (Debian, Ubuntu) where there is no Vulkan device
	@bash .ci/setup

demo: setup ## sort real data and ten million keys on the GPU, verified and timed, and run the examples
	@bash .ci/demo

# (Lavapipe compiles one kernel at a time in each process, so others run beside its tests: what 'cargo test' runs one after the other.)
test: setup ## run every test; a machine without a device fails
	cargo test --locked --no-run
	$(MAKE) -j2 test-adapter test-others

test-adapter:
	cargo test --locked --test adapter

OTHERS = $(filter-out adapter,$(patsubst tests/%.rs,%,$(wildcard tests/*.rs)) $(patsubst tests/%/main.rs,%,$(wildcard tests/*/main.rs)))

test-others:
	cargo test --locked --lib --bins $(OTHERS:%=--test %)
	cargo test --locked --doc

portability: setup ## examine every kernel as the compilers of Vulkan, Metal, DX12 and browsers do
	@bash .ci/portability
	WGPU_BCFSORT_REQUIRE_GATES=1 cargo test --locked -p portability

cross: ## check the code for Windows, macOS and browsers, as far as compiling goes (needs rustup)
	@bash .ci/cross

lint: ## formatting, clippy and the documentation, warnings denied
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	cargo clippy --locked --lib --tests --no-default-features --features vulkan -- -D warnings
	cargo clippy --locked --lib --no-default-features -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --no-deps

# (Where the other targets build: what is built there is not built again.)
package: ## build the crate as it would be published
	CARGO_TARGET_DIR="$${CARGO_TARGET_DIR:-$(CURDIR)/target}" cargo package --locked --allow-dirty

deny: ## licences, duplicates and sources of all dependencies (needs cargo-deny)
	cargo deny --locked check bans licenses sources

# (Built as the demo is: without the examples it would be built with fewer features, and so all again.)
figures: setup ## redraw the paper's figures from small data sets, into target/figures
	cargo build --release --locked --bin wgpu-bcfsort --examples
	"$${CARGO_TARGET_DIR:-target}/release/wgpu-bcfsort" experiment all --quick --restart --no-peers \
		--out "$${CARGO_TARGET_DIR:-target}/figures"

peers: ## build the programs that time other sorters, to compare with (benches/peers)
	@bash benches/peers/build
