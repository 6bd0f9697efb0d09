#!/usr/bin/env bash
# Everything about installing and packaging that CI checks beside `cargo test`. Each step has a time limit and can be called by
# itself; the order lets a wrong one be known early. Needs a Debian machine with cargo, git, node and python3, installs the rest
# of Debian's packages by name, and needs the right to (root).
#
#   deny.sh      cargo-deny: bans, licences, sources
#   vendor.sh    vendored, offline, reproducible, small     two release builds
#   packages.sh  npm and PyPI, installed offline and started
#   files.sh     completions, manual page, bundle, workflows
#   ssh.sh       a session through sshd, broken in the middle
#   minimum.sh   the oldest Rust that is promised checks all of it
#   targets.sh   static glibc, musl and aarch64 run; macOS and MSVC are checked
set -euo pipefail
cd "$(dirname "$0")/../.."
target_dir=$(realpath -m "${CARGO_TARGET_DIR:-target}")
binary=$target_dir/package/allowexec

step() {
    local limit=$1 began=$SECONDS
    shift
    printf '\n-- %s\n' "$*"
    timeout --kill-after=10 "$limit" "$@"
    printf -- '-- took %s s\n' $((SECONDS - began))
}

step 500 bash tests/package/deny.sh
step 1500 bash tests/package/vendor.sh "$binary"
step 900 bash tests/package/packages.sh "$binary"
step 900 bash tests/package/files.sh "$binary"
step 600 bash tests/remote/ssh.sh "$binary"
step 1500 bash tests/package/minimum.sh
step 1800 bash tests/package/targets.sh
