#!/usr/bin/env bash
# The oldest Rust that Cargo.toml promises, for the library, the program and the tests: checked by the compiler and the cargo of that
# version, as Debian packages them. Where Debian has not this very version, the oldest one that is newer, and it says which.
set -euo pipefail
cd "$(dirname "$0")/../.."
target_dir=$(realpath -m "${CARGO_TARGET_DIR:-target}")
tools=$target_dir/minimum-toolchain
minimum=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)

if [ ! -e "$tools/compiler-ready" ]; then
    .ci/again timeout 300 apt-get update -qq
    version=
    for candidate in $(apt-cache madison rustc-web | cut -d '|' -f 2 | sort -V); do
        if dpkg --compare-versions "$candidate" ge "$minimum"; then
            version=$candidate
            break
        fi
    done
    [ -n "$version" ] || { echo "no rustc-web of at least $minimum; does apt know Debian's packages?" >&2; exit 1; }
    bash tests/package/toolchain.sh "$tools" "$version" cargo-web
fi
found=$("$tools/bin/rustc" --version)
case $found in
    "rustc $minimum."*) echo "the minimum itself: $found" ;;
    *) echo "not the minimum, $minimum, but the nearest that there is: $found" ;;
esac
# The artefacts of another compiler stay apart.
RUSTC=$tools/bin/rustc CARGO_TARGET_DIR=$target_dir/minimum \
    timeout --kill-after=10 900 "$tools/bin/cargo" check --locked --all-targets
