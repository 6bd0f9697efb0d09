#!/usr/bin/env bash
# Records, replays, mocks and lints ten third-party servers: installs them by name and version, then has run.py try them.
#
# What is installed is kept under target/servers and used again. Needs cargo, git, python3 with venv, and npm. What can't be installed
# is left out, and said. MCP_SCHEMA_DIR names the official schemas; without it lines are checked against no schema.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-$PWD/target}
kept=$target/servers
again=$PWD/.ci/again
mkdir -p "$kept"

# installed DIRECTORY COMMAND...: runs the command in the directory once.
installed() {
    local directory=$kept/$1
    shift
    [ -e "$directory/.installed" ] && return
    rm -rf "$directory"
    mkdir -p "$directory"
    (cd "$directory" && "$@" >install.log 2>&1) || {
        echo "not installed: ${*: -1}" >&2
        tail -n 5 "$directory/install.log" >&2
        return 0
    }
    touch "$directory/.installed"
}

python_packages() {
    timeout --kill-after=10 60 python3 -m venv . && "$again" timeout --kill-after=10 300 bin/python -m pip install --quiet --disable-pip-version-check "$@"
}

node_packages() {
    echo '{"private": true}' >package.json
    "$again" timeout --kill-after=10 300 npm install --no-audit --no-fund --no-update-notifier "$@"
}

rust_package() {
    "$again" timeout --kill-after=10 1800 cargo install --quiet --locked --root . --target-dir "$kept/build" "$1" --version "$2"
}

installed client python_packages mcp==1.30.0
[ -e "$kept/client/.installed" ] || {
    echo "without the official client nothing can be shown" >&2
    exit 0
}
installed node node_packages @modelcontextprotocol/server-{filesystem,everything,memory,sequential-thinking}@2026.8.31
installed mcp-server-git python_packages mcp-server-git==2026.10.19 mcp==2.3.0
installed mcp-server-time python_packages mcp-server-time==2026.10.19 mcp==2.3.0
# It does not start with a newer `mcp`.
installed mcp-server-sqlite python_packages mcp-server-sqlite==2025.4.25 mcp==1.30.0
installed mcp-server-fetch python_packages mcp-server-fetch==2026.10.24 mcp==2.3.0
installed mcp-server-calculator python_packages mcp-server-calculator==0.2.1 mcp==1.30.0
installed rust-mcp-filesystem rust_package rust-mcp-filesystem 0.4.5

if [ -z "${ALLOWEXEC:-}" ]; then
    timeout --kill-after=10 900 cargo build --quiet --release --locked
    ALLOWEXEC=$target/release/allowexec
fi
timeout --kill-after=10 900 python3 tests/servers/run.py "$kept" "$ALLOWEXEC" "$@"
