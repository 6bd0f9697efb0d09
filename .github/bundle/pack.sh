#!/usr/bin/env bash
# Packs the MCP bundle: pack.sh OUTPUT LINUX_BINARY MAC_BINARY WINDOWS_BINARY. The manifest is validated on the way.
set -euo pipefail
output=$1 linux=$2 mac=$3 windows=$4
here=$(cd "$(dirname "$0")" && pwd)
bundle=$(mktemp -d)
trap 'rm -rf "$bundle"' EXIT
mkdir -p "$bundle"/server/{linux,darwin,win32}
cp "$here/manifest.json" "$here"/../../LICENSE-* "$bundle/"
cp "$linux" "$bundle/server/linux/allowexec"
cp "$mac" "$bundle/server/darwin/allowexec"
cp "$windows" "$bundle/server/win32/allowexec.exe"
chmod 755 "$bundle"/server/*/*
npx --yes @anthropic-ai/mcpb@2.1.2 validate "$bundle/manifest.json"
npx --yes @anthropic-ai/mcpb@2.1.2 pack "$bundle" "$output"
