#!/usr/bin/env bash
# Makes the picture of a report, spec/report.png, as Chromium shows it: tests/report/draw.sh BINARY [FILE.png [WIDTH [FLAG...]]]
set -euo pipefail
binary=$(realpath "$1")
cd "$(dirname "$0")/../.."
picture=$(realpath -m "${2:-spec/report.png}")
width=${3:-1180}
shift $(($# < 3 ? $# : 3))
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 tests/report/example.py > "$work/audit.jsonl"
(cd "$work" && "$binary" report audit.jsonl -o page.html)
timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-background-networking --disable-sync --disable-component-update \
    --no-first-run --disable-dev-shm-usage --hide-scrollbars --user-data-dir="$work/profile" --virtual-time-budget=5000 \
    --window-size="$width,${HEIGHT:-820}" "$@" --screenshot="$picture" "file://$work/page.html${FRAGMENT:-}" 2> "$work/said" || { cat "$work/said" >&2; exit 1; }
