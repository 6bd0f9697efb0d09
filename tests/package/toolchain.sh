#!/usr/bin/env bash
# Debian's compiler with the source of its library, unpacked into the directory that is given, once: toolchain.sh DIR
#
# Standard libraries for other targets can't be installed here, but that compiler can build them. It stands beside the system,
# so that it neither shadows nor is shadowed by another toolchain. `DIR/bin` gets rustc, rustdoc and clippy-driver.
set -euo pipefail
tools=$1
[ ! -e "$tools/compiler-ready" ] || exit 0
rm -rf "$tools/root" "$tools/debs"
mkdir -p "$tools/debs" "$tools/bin"
cd "$tools/debs"
timeout 300 apt-get update -qq
version=$(apt-cache policy rustc-web | sed -n 's/ *Candidate: //p')
series=$(sed -E 's/^([0-9]+\.[0-9]+).*/\1/' <<< "$version")
# The compiler and the source of its library must be of one version.
timeout 600 apt-get download -qq "rustc-web=$version" "libstd-rust-web-dev=$version" "libstd-rust-web-$series=$version" \
    "rust-web-src=$version" "rust-web-clippy=$version"
llvm=$(dpkg -f libstd-rust-web-"$series"_*.deb Depends | grep -o 'libllvm[0-9]*' | head -n 1 || true)
[ -z "$llvm" ] || timeout 600 apt-get download -qq "$llvm"
for deb in *.deb; do
    timeout 300 dpkg -x "$deb" "$tools/root"
done
for program in rustc rustdoc clippy-driver; do
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s/root/usr/lib/x86_64-linux-gnu exec %s/root/usr/bin/%s "$@"\n' \
        "$tools" "$tools" "$program" > "$tools/bin/$program"
    chmod +x "$tools/bin/$program"
done
rm -rf "$tools/debs"
touch "$tools/compiler-ready"
