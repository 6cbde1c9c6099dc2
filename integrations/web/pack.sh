#!/usr/bin/env bash
# Packs the package as it would be published, and tests the tarball as others get it.
#
#   bash pack.sh FOLDER      writes FOLDER/wgpu-bcfsort-VERSION.tgz
#
# publint and attw ("Are the types wrong?") examine it; its sizes are within limits; installed into
# an empty project it sorts in Node, in Deno, and on pages of Vite (tests/packed.mjs). Needs what
# build.sh needs, and Chromium, or the browsers that the variable ENGINES names; Deno needs a Vulkan
# driver, as 'make setup' installs it. The same sources and tools give the same tarball.
set -euo pipefail
usage() {
    printf 'usage: bash pack.sh FOLDER\n' >&2
    exit 2
}
[ $# = 1 ] || usage
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")"

# Bytes: a tenth above those of the version that was last packed. What grows more has a reason,
# which the commit that raises these says.
PACKED=740000
UNPACKED=2015000

say() { printf 'pack: %s\n' "$*"; }

[ -d node_modules ] || npm ci --silent --ignore-scripts
bash build.sh
packed=$(npm pack --json --ignore-scripts --pack-destination "$folder")
read -r name packed_bytes unpacked_bytes files < <(node -e '
    const [{ filename, size, unpackedSize, entryCount }] = JSON.parse(process.argv[1]);
    console.log(filename, size, unpackedSize, entryCount);
' "$packed")
tarball=$folder/$name
say "$name: $files files, $packed_bytes bytes, $unpacked_bytes bytes unpacked"
if [ "$packed_bytes" -gt $PACKED ] || [ "$unpacked_bytes" -gt $UNPACKED ]; then
    say "the limits are $PACKED bytes, and $UNPACKED bytes unpacked (pack.sh)" >&2
    exit 1
fi

say 'publint'
npx --no-install publint run "$tarball" --strict
say 'attw'
npx --no-install attw "$tarball" --profile esm-only --no-emoji
say 'an empty project'
TARBALL=$tarball ENGINES=${ENGINES:-chromium} node --test --test-reporter=spec tests/packed.mjs
say "packed $tarball"
