#!/usr/bin/env bash
# Builds the package and the auditor into dist/: the crates as WebAssembly, and the executor.
#
#   bash build.sh [--tests]      with --tests also the library on wgpu, which tests call
#
# Needs the target wasm32-unknown-unknown (rustup brings it) and the packages of 'npm ci'. The
# command wasm-bindgen, of the version that the lock file names, is installed where it is missing.
# Crates are built in CARGO_TARGET_DIR/web.
set -euo pipefail
cd "$(dirname "$0")"

target=${CARGO_TARGET_DIR:-$PWD/../../target}
tools=$target/ci-tools
root=$(cd ../.. && pwd)
home=${CARGO_HOME:-$HOME/.cargo}
export CARGO_TARGET_DIR=$target/web
wasm=wasm32-unknown-unknown

if ! [ -d "$(rustc --print target-libdir --target $wasm)" ]; then
    printf 'web: adds the target %s\n' $wasm
    rustup --quiet target add $wasm
fi
version=$(sed -n '/^name = "wasm-bindgen"$/{n;s/version = "\(.*\)"/\1/p}' Cargo.lock)
if [ "$("$tools/bin/wasm-bindgen" --version 2>/dev/null)" != "wasm-bindgen $version" ]; then
    printf 'web: builds wasm-bindgen %s, once (some minutes)\n' "$version"
    CARGO_TARGET_DIR=$target/wasm-bindgen cargo install --quiet --debug --locked --force \
        --root "$tools" wasm-bindgen-cli@"$version" --bin wasm-bindgen
fi

# Builds a crate, by itself: one of the tests has wgpu, which the planner is free of.
build() {
    local crate=$1 profile=$2 out=$3
    printf 'web: builds the %s as WebAssembly\n' "$crate"
    local flags=${RUSTFLAGS:-}
    if [ "$profile" = release ]; then
        # Texts of panics name files: what is published names no folder of this machine.
        flags+=" --remap-path-prefix=$root=/bcfsort --remap-path-prefix=$home=/cargo"
    fi
    RUSTFLAGS=$flags \
        cargo build --locked --profile $profile --target $wasm -p bcfsort-web-"$crate"
    "$tools/bin/wasm-bindgen" --target web --out-dir "$out" --out-name "$crate" \
        "$CARGO_TARGET_DIR/$wasm/${profile/dev/debug}/bcfsort_web_$crate.wasm"
}

for crate in planner auditor; do
    build $crate release dist/$crate
    # (Every browser that has WebGPU has these.)
    npx wasm-opt -Oz --enable-bulk-memory --enable-nontrapping-float-to-int --enable-sign-ext \
        --enable-mutable-globals --enable-reference-types --enable-multivalue --enable-simd \
        -o dist/$crate/${crate}_bg.wasm dist/$crate/${crate}_bg.wasm
done
npx tsc
cp src/{constants,planner.wasm}.d.ts ../../LICENSE-* dist/
if [ "${1:-}" = --tests ]; then
    build library dev dist/tests
fi
