#!/usr/bin/env bash
# Other targets than the machine's own: targets.sh [static] [musl] [aarch64] [macos] [msvc]; without a word, all five.
#
#   static   a static binary with glibc, built and run
#   musl     a static binary, built and run
#   aarch64  a Linux binary, built and run under qemu-user
#   macos    checked by the compiler and clippy for aarch64-apple-darwin, the tests included
#   msvc     the same for x86_64-pc-windows-msvc, without the tests: tests/windows/run.sh checks those for the other Windows
#
# Of Debian: musl-tools and libunwind-14-dev; gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user; and for each target the
# compiler of toolchain.sh, which builds the standard library. What is built is not what is released: little is optimised, so that
# the whole takes minutes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR
tools=$CARGO_TARGET_DIR/windows-toolchain
export RUSTC=$tools/bin/rustc RUSTDOC=$tools/bin/rustdoc RUSTC_BOOTSTRAP=1 CARGO_PROFILE_DEV_DEBUG=0

packages() {
    dpkg -s "$@" > /dev/null 2>&1 && return
    .ci/again timeout 300 apt-get update -qq
    DEBIAN_FRONTEND=noninteractive .ci/again timeout 600 apt-get install -y -qq --no-install-recommends "$@" > /dev/null
}

build() {
    timeout --kill-after=10 1200 cargo build --locked -Zbuild-std=std,panic_unwind --target "$1"
}

# What `cargo clippy -- -D warnings` does; the driver splits its arguments at this word.
check() {
    local target=$1
    shift
    CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__ RUSTC_WORKSPACE_WRAPPER=$tools/bin/clippy-driver \
        timeout --kill-after=10 1200 cargo check --locked -Zbuild-std=std,panic_unwind,test --target "$target" "$@"
}

# Runs a binary by the path of a client's call, and has it serve a client that leaves.
works() {
    local answer
    answer=$(timeout 60 "$@" call execute_command '{"command":"echo from another target"}' --allow echo)
    grep -qx '  from another target' <<< "$answer" || { echo "unexpected: $answer" >&2; return 1; }
    [ "$(timeout 60 "$@" check --allow ls -- 'ls | sh' | head -n 1)" = refused ]
    # A command that never ends by itself, with a child of its own, is ended at its deadline.
    answer=$(timeout 60 "$@" call execute_process --allow sh \
        '{"file":"sh","args":["-c","sleep 3600 & wait"],"timeout_ms":300}' || true)
    grep -qx 'timed_out: true' <<< "$answer" || { echo "unexpected: $answer" >&2; return 1; }
    # The kernel says ENOEXEC for a file of an unknown format, and no shell gets it, which execvp(3) would start.
    local directory
    directory=$(mktemp -d)
    echo 'echo a shell has read this' > "$directory/unknown"
    chmod +x "$directory/unknown"
    answer=$(timeout 60 "$@" call execute_command --allow "$directory/unknown" "{\"command\":\"$directory/unknown\"}" || true)
    rm -r "$directory"
    # qemu-user makes fork(2) of vfork(2), and so the parent hears of no error: the child exits with 127.
    local refused='Exec format error'
    [ $# = 1 ] || refused='exit_code: 127'
    grep -q "$refused" <<< "$answer" || { echo "unexpected: $answer" >&2; return 1; }
    ! grep -q 'a shell has read this' <<< "$answer" || { echo "unexpected: $answer" >&2; return 1; }
    answer=$(timeout 60 "$@" serve 2> /dev/null <<< '{"jsonrpc":"2.0","id":1,"method":"ping"}')
    grep -q '"id":1' <<< "$answer" || { echo "unexpected: $answer" >&2; return 1; }
}

static() {
    RUSTFLAGS="-Ctarget-feature=+crt-static" build x86_64-unknown-linux-gnu
    works "$CARGO_TARGET_DIR/x86_64-unknown-linux-gnu/debug/allowexec"
}

musl() {
    packages musl-tools libunwind-14-dev
    # The only static libunwind of Debian is built for glibc and wants one function of it that musl does not have.
    local unwind=$CARGO_TARGET_DIR/unwind
    mkdir -p "$unwind"
    cat > "$unwind/chk.c" << 'C'
#include <stdarg.h>
#include <stdio.h>
int __fprintf_chk(FILE *file, int flag, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int count = vfprintf(file, format, arguments);
    va_end(arguments);
    return count;
}
C
    musl-gcc -O2 -fno-stack-protector -c "$unwind/chk.c" -o "$unwind/chk.o"
    cp -L /usr/lib/llvm-14/lib/libunwind.a "$unwind/libunwind.a"
    ar r "$unwind/libunwind.a" "$unwind/chk.o"
    CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER=musl-gcc \
        CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_RUSTFLAGS="-Clink-self-contained=no -Crelocation-model=static -L$unwind" \
        build x86_64-unknown-linux-musl
    local binary=$CARGO_TARGET_DIR/x86_64-unknown-linux-musl/debug/allowexec
    # No program is asked for to load it, and no library.
    if readelf --program-headers --dynamic "$binary" | grep -E 'INTERP|NEEDED'; then
        echo "the musl binary is not static" >&2
        return 1
    fi
    works "$binary"
}

aarch64() {
    packages gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc build aarch64-unknown-linux-gnu
    works qemu-aarch64 -L /usr/aarch64-linux-gnu "$CARGO_TARGET_DIR/aarch64-unknown-linux-gnu/debug/allowexec"
}

macos() {
    check aarch64-apple-darwin --all-targets
}

msvc() {
    check x86_64-pc-windows-msvc --lib --bins
}

bash "$here/toolchain.sh" "$tools"
[ $# -gt 0 ] || set -- static musl aarch64 macos msvc
for target in "$@"; do
    case $target in
        static | musl | aarch64 | macos | msvc)
            # Not before an `&&`, where a failure within would be overlooked.
            "$target"
            echo "$target: all as it should be"
            ;;
        *)
            echo "unknown target: $target; expected static, musl, aarch64, macos or msvc" >&2
            exit 2
            ;;
    esac
done
