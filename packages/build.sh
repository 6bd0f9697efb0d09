#!/usr/bin/env bash
# Makes the packages of a binary, without a network: ALLOWEXEC=BINARY [SBOM=FILE] packages/build.sh OUT
#
# OUT/npm gets the main package and that of the binary's platform, OUT/pypi a wheel. packages/README.md says how a release uses it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "$1")
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir -p "$out/npm" "$out/pypi"
python3 "$here/make.py" "${ALLOWEXEC:?names the binary}" "$stage" "$out/pypi"
for package in "$stage"/*; do
    npm pack --silent --offline --ignore-scripts --pack-destination "$out/npm" "$package" >/dev/null
done
