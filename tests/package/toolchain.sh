#!/usr/bin/env bash
# A compiler of Debian's, unpacked into the directory that is given, once: toolchain.sh DIR [VERSION PACKAGE...]
#
# Without more words it is the newest one, with the source of its library and clippy: standard libraries for other targets can't
# be installed here, but that compiler can build them. VERSION is another one of Debian's, and the packages are what it is to have
# beside rustc. It stands beside the system, so that it neither shadows nor is shadowed by another toolchain. Its programs are
# in `DIR/bin`.
set -euo pipefail
again=$(cd "$(dirname "$0")/../.." && pwd)/.ci/again
tools=$1
shift
[ ! -e "$tools/compiler-ready" ] || exit 0
rm -rf "$tools/root" "$tools/debs" "$tools/bin"
mkdir -p "$tools/debs" "$tools/bin"
cd "$tools/debs"
"$again" timeout 300 apt-get update -qq
version=${1:-$(apt-cache policy rustc-web | sed -n 's/ *Candidate: //p')}
shift || set -- rust-web-src rust-web-clippy
series=$(sed -E 's/^([0-9]+\.[0-9]+).*/\1/' <<< "$version")

# Its warning, that it does not change to a user of its own for this, says nothing here.
download() {
    "$again" timeout 600 apt-get download -qq -o APT::Sandbox::User=root "$@"
}
# The compiler and the source of its library must be of one version.
download "rustc-web=$version" "libstd-rust-web-dev=$version" "libstd-rust-web-$series=$version" "${@/%/=$version}"
# The libraries that none of these and no package of the system has.
needed=$(for deb in *.deb; do dpkg -f "$deb" Depends; done | tr ',|' '\n\n' | sed 's/(.*//; s/ //g')
for library in $(grep '^lib' <<< "$needed" | grep -vE '^(libstd-rust-web|libc-dev)' | sort -u); do
    dpkg -s "$library" > /dev/null 2>&1 || download "$library"
done
for deb in *.deb; do
    timeout 300 dpkg -x "$deb" "$tools/root"
done
for program in rustc rustdoc clippy-driver cargo; do
    [ -e "$tools/root/usr/bin/$program" ] || continue
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s/usr/lib/x86_64-linux-gnu:%s/lib/x86_64-linux-gnu exec %s/usr/bin/%s "$@"\n' \
        "$tools/root" "$tools/root" "$tools/root" "$program" > "$tools/bin/$program"
    chmod +x "$tools/bin/$program"
done
rm -rf "$tools/debs"
touch "$tools/compiler-ready"
