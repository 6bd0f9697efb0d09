#!/usr/bin/env bash
# Records, replays, mocks and lints ten third-party servers: installs them by name and version, then has run.py try them.
#
# What is installed is kept under target/servers and used again. Needs cargo, git, python3 with venv, and npm. What can't be installed
# is left out, and said. MCP_SCHEMA_DIR names the official schemas; without it lines are checked against no schema.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-$PWD/target}
kept=$target/servers
mkdir -p "$kept"
. tests/installed.sh

rust_package() {
    # Not optimised: it takes a third of the time.
    CARGO_PROFILE_DEV_DEBUG=0 CARGO_INCREMENTAL=0 "$again" timeout --kill-after=10 600 \
        cargo install --quiet --locked --debug --root . --target-dir build "$1" --version "$2"
}

# Those in Python share two environments: some do not start with the newer `mcp`. The official client is the older one.
installed mcp-1.30.0 python_packages mcp==1.30.0 mcp-server-sqlite==2025.4.25 mcp-server-calculator==0.2.1 &
installed mcp-2.3.0 python_packages mcp==2.3.0 mcp-server-git==2026.10.19 mcp-server-time==2026.10.19 mcp-server-fetch==2026.10.24 &
installed node node_packages @modelcontextprotocol/server-{filesystem,everything,memory,sequential-thinking}@2026.8.31 &
installed rust-mcp-filesystem rust_package rust-mcp-filesystem 0.4.5 &
wait
[ -e "$kept/mcp-1.30.0/.installed" ] || {
    echo "without the official client nothing can be shown" >&2
    exit 0
}

if [ -z "${ALLOWEXEC:-}" ]; then
    timeout --kill-after=10 900 cargo build --quiet --release --locked
    ALLOWEXEC=$target/release/allowexec
fi
timeout --kill-after=10 600 python3 tests/servers/run.py "$kept" "$ALLOWEXEC" "$@"
