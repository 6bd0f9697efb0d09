#!/usr/bin/env bash
# The Windows leg on a Debian machine: sets up a toolchain from Debian's packages (once), runs clippy for x86_64-pc-windows-gnu,
# and the tests under Wine. Usage: tests/windows/run.sh [setup | clippy | test [ARGUMENTS FOR cargo test]]; without a word, all three.
#
# The standard library for Windows is not installable here, so it is built by the compiler of tests/package/toolchain.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."

TARGET=x86_64-pc-windows-gnu
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR
TOOLS=$CARGO_TARGET_DIR/windows-toolchain
WINE=/usr/lib/wine/wine64
BUILD_STD=(-Zbuild-std=std,panic_unwind,test --target "$TARGET")

within() {
    timeout --kill-after=10 "$@"
}

# Wine 8 has no bcryptprimitives.dll, which the standard library takes its random numbers from: without it a program ends
# before it begins, without a word. This one has the one function that is called.
add_random_numbers() {
    cat >"$TOOLS/bcryptprimitives.c" <<'C'
#include <windows.h>
#include <ntsecapi.h>
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T count) {
    while (count > 0) {
        ULONG piece = count > 65536 ? 65536 : (ULONG)count;
        if (!RtlGenRandom(bytes, piece)) return FALSE;
        bytes += piece;
        count -= piece;
    }
    return TRUE;
}
C
    x86_64-w64-mingw32-gcc -O2 -shared -o "$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll" \
        "$TOOLS/bcryptprimitives.c" -ladvapi32
}

setup() {
    if ! [ -x "$WINE" ] || ! command -v x86_64-w64-mingw32-gcc >/dev/null; then
        .ci/again timeout --kill-after=10 300 apt-get update -qq
        DEBIAN_FRONTEND=noninteractive .ci/again timeout --kill-after=10 900 apt-get install -y -qq --no-install-recommends gcc-mingw-w64-x86-64 wine64 >/dev/null
    fi
    within 1500 bash tests/package/toolchain.sh "$TOOLS"
    if ! [ -e "$TOOLS/wine-ready" ]; then
        rm -rf "$WINEPREFIX"
        within 180 "$WINE" wineboot -i </dev/null >/dev/null 2>&1
        add_random_numbers
        touch "$TOOLS/wine-ready"
    fi
    "$RUSTC" -V
}

# Wine leaves a server and services behind; they belong to our own prefix, so nothing else ends with them. A process that was
# killed while it started is one that its server does not know any more, and waits for it for ever.
end_wine() {
    local process
    within 30 "${WINE%64}server64" -k 2>/dev/null || true
    for process in /proc/[0-9]*; do
        if [[ $(readlink "$process/exe") == "${WINE%/*}"/* ]] && grep -qzxF "WINEPREFIX=$WINEPREFIX" "$process/environ"; then
            kill -KILL "${process#/proc/}"
        fi 2>/dev/null || true
    done
}

export RUSTC=$TOOLS/bin/rustc RUSTDOC=$TOOLS/bin/rustdoc RUSTC_BOOTSTRAP=1
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=x86_64-w64-mingw32-gcc
# Wine needs certain places in memory. Where addresses are random they are taken once in some thousand starts, and the program
# ends before it begins, without a word; so they are not random here, where the kernel lets us say so.
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=$WINE
if setarch -R true 2>/dev/null; then
    CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER="setarch -R $WINE"
fi
# insta would run cargo to find it, which Wine can't.
export INSTA_WORKSPACE_ROOT=$PWD
export WINEPREFIX=$TOOLS/wine WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml='
unset DISPLAY
trap end_wine EXIT

clippy() {
    # What `cargo clippy -- -D warnings` does, with the compiler above; the driver splits its arguments at this word.
    CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__ RUSTC_WORKSPACE_WRAPPER=$TOOLS/bin/clippy-driver \
        within 900 cargo check --locked "${BUILD_STD[@]}" --all-targets
}

tests() {
    # Built first, so that the time limit of the tests is theirs alone; examples in the documentation can't be.
    [[ " $* " == *" --doc "* ]] || within 1500 cargo test --locked "${BUILD_STD[@]}" --no-run "$@"
    local log=$TOOLS/tests.log
    (
        # What Wine leaves behind holds the pipe open, and has to end before its end is waited for.
        trap end_wine EXIT
        within 600 cargo test --locked "${BUILD_STD[@]}" "$@" 2>&1
    ) | tee "$log" && return
    # Where addresses are random (see above), a process of a test may be the one that does not start. Then, and only then, all
    # is run again, once.
    grep -q -e 'code: 1359' -e 'os error 1359' "$log" || return 1
    echo "Wine failed to start a process (1359); all tests once more"
    within 600 cargo test --locked "${BUILD_STD[@]}" "$@"
}

step=${1:-all}
shift || true
case $step in
all)
    setup
    clippy
    tests
    ;;
setup) setup ;;
clippy)
    setup
    clippy
    ;;
test)
    setup
    tests "$@"
    ;;
*)
    echo "unknown step: $step; expected setup, clippy or test" >&2
    exit 2
    ;;
esac
