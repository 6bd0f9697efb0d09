#!/usr/bin/env bash
# The package as crates.io would serve it, with its crates vendored, installed twice on a machine without a network and without
# anything in cargo's home: in two directories, and the binaries must be equal byte for byte and smaller than the limit.
#
# Needs git, unshare (util-linux) and, the first time, the network for the crates. Leaves the binary at OUTPUT where one is given:
#
#   tests/package/vendor.sh [OUTPUT]
set -euo pipefail
cd "$(dirname "$0")/../.."
output=${1:+$(realpath -m "$1")}
limit=8550000
work=$(mktemp -d)
# What still builds must not write into the directory while it is removed.
trap 'wait; rm -rf "$work"' EXIT

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
timeout 300 cargo package --locked --allow-dirty --no-verify --quiet --target-dir "$work/package"
mkdir -p "$work/a" "$work/b/deeper/down"
tar -xzf "$work/package/package/allowexec-$version.crate" -C "$work/a" --strip-components=1
mkdir "$work/a/.cargo"
(cd "$work/a" && timeout 600 cargo vendor --locked vendor > .cargo/config.toml 2> "$work/vendor.log") || { cat "$work/vendor.log" >&2; exit 1; }
cp -a "$work/a/." "$work/b/deeper/down"

# Without the right to unshare the network, a user namespace gives it.
apart=(unshare --net)
[ "$(id -u)" -eq 0 ] || apart=(unshare --map-root-user --net)

install_in() {
    cd "$1"
    export CARGO_HOME=$1/home CARGO_TARGET_DIR=$1/target RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup}
    # Panics name the file that they are in; the paths of this machine are nobody's business and would differ.
    export RUSTFLAGS="--remap-path-prefix=$1=/allowexec"
    # shellcheck disable=SC2016 # The inner shell expands these.
    timeout --kill-after=10 1200 "${apart[@]}" bash -euc '
        interfaces=$(tail -n +3 /proc/net/dev | cut -d : -f 1 | tr -d " ")
        [ "$interfaces" = lo ] || { echo "there is a network: $interfaces" >&2; exit 1; }
        cargo install --path . --profile dist --locked --offline --quiet --no-track --root root'
}
# Side by side: most of a release build is one thread's work. Each is waited for, so that a failure of either ends the script.
(install_in "$work/a") &
first=$!
(install_in "$work/b/deeper/down")
wait "$first"

binary=$work/a/root/bin/allowexec
cmp "$binary" "$work/b/deeper/down/root/bin/allowexec"
if grep -qaF -e "$work" -e "$HOME/" "$binary"; then
    echo "the binary holds paths of this machine" >&2
    exit 1
fi
size=$(stat -c %s "$binary")
[ "$size" -lt "$limit" ] || { echo "the binary has $size bytes, $limit are the limit" >&2; exit 1; }
[ "$("$binary" --version)" = "allowexec $version" ]
"$binary" call execute_command '{"command":"echo installed"}' --allow echo | grep -qx '  installed'
[ -z "$output" ] || install -D "$binary" "$output"
echo "vendored, built offline twice, equal, $size bytes"
