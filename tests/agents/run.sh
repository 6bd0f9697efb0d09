#!/usr/bin/env bash
# Has agents of other people make real calls: installs them by name and version, then has run.py try each, and hooks.py their own shells.
#
# What is installed is kept under target/agents and used again: 1.5 GB. Needs npm, node 20 or newer, python3 and Linux. An agent that
# can't be installed here is named and left out. Takes about ten minutes at most.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-$PWD/target}
kept=$target/agents
mkdir -p "$kept"

if ! command -v npm >/dev/null || ! command -v python3 >/dev/null; then
    echo "not run: the agents need npm and python3"
    exit 0
fi

# installed PROGRAM PACKAGE@VERSION: once for each version, in a home directory of its own.
installed() {
    local directory=$kept/$1
    [ "$(cat "$directory/.installed" 2>/dev/null)" = "$2" ] && return
    rm -rf "$directory"
    mkdir -p "$directory"
    echo '{"private": true}' >"$directory/package.json"
    if (cd "$directory" && timeout --kill-after=10 100 npm install --no-audit --no-fund --no-update-notifier "$2" >install.log 2>&1); then
        echo "$2" >"$directory/.installed"
    else
        echo "$2 does not install here: $(tail -n 1 "$directory/install.log")"
        rm -rf "$directory"
    fi
}

installed claude @anthropic-ai/claude-code@2.1.330
installed codex @openai/codex@0.169.0
installed copilot @github/copilot@1.0.102
installed opencode opencode-ai@1.18.33
installed gemini @google/gemini-cli@0.61.0

if [ -z "${ALLOWEXEC:-}" ]; then
    timeout --kill-after=10 900 cargo build --quiet --release --locked
    ALLOWEXEC=$target/release/allowexec
fi
timeout --kill-after=10 300 python3 tests/agents/run.py "$kept" "$ALLOWEXEC" "$@"
timeout --kill-after=10 600 python3 tests/agents/hooks.py "$kept" "$ALLOWEXEC"
