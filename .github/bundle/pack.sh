#!/usr/bin/env bash
# Packs the MCP bundle, with the manifest validated on the way:
#
#   pack.sh OUTPUT LINUX_X86_64_BINARY LINUX_AARCH64_BINARY MAC_BINARY WINDOWS_BINARY
set -euo pipefail
output=$1 x86_64=$2 aarch64=$3 mac=$4 windows=$5
here=$(cd "$(dirname "$0")" && pwd)
bundle=$(mktemp -d)
trap 'rm -rf "$bundle"' EXIT
mkdir -p "$bundle"/server/{linux,darwin,win32}
cp "$here/manifest.json" "$here"/../../LICENSE-* "$bundle/"
cp "$here/linux.sh" "$bundle/server/linux/allowexec"
cp "$x86_64" "$bundle/server/linux/allowexec-x86_64"
cp "$aarch64" "$bundle/server/linux/allowexec-aarch64"
cp "$mac" "$bundle/server/darwin/allowexec"
cp "$windows" "$bundle/server/win32/allowexec.exe"
chmod 755 "$bundle"/server/*/*
npx --yes @anthropic-ai/mcpb@2.1.2 validate "$bundle/manifest.json"
npx --yes @anthropic-ai/mcpb@2.1.2 pack "$bundle" "$output"
