#!/usr/bin/env bash
# Builds the guide as a book, and follows every link between its pages: book.sh
#
# mdbook is compiled once, in about three minutes, and kept under target/mdbook. Where that does not work within ten, it says so
# and ends with 0: that the pages are listed and their links lead somewhere, `cargo test` shows without it (tests/it/book.rs).
set -euo pipefail
cd "$(dirname "$0")/../.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
mdbook=$target/mdbook/bin/mdbook
version=0.5.4

if [ "$("$mdbook" --version 2>/dev/null)" != "mdbook v$version" ] &&
    ! timeout --kill-after=10 600 cargo install mdbook --version "$version" --locked --debug --no-default-features --force --quiet \
        --root "$target/mdbook" --target-dir "$target/mdbook/target"; then
    echo "not run: mdbook $version does not install here"
    exit 0
fi
rm -rf "$target/book"
timeout 60 "$mdbook" build spec/guide --dest-dir "$target/book" 2>&1 | tee "$target/book.log"
if grep -E 'WARN|ERROR' "$target/book.log"; then
    exit 1
fi
python3 - "$target/book" <<'SCRIPT'
import re, sys
from pathlib import Path

book = Path(sys.argv[1])
pages = [Path("spec/guide") / name for name in re.findall(r"\]\((\S+\.md)\)", Path("spec/guide/SUMMARY.md").read_text())]
count = 0
for page in pages:
    text = (book / page.with_suffix(".html").name).read_text()
    for link in re.findall(r'<a href="([^"#:]*)(?:#([^"]*))?"', text):
        target = book / link[0] if link[0] else book / page.with_suffix(".html").name
        if not target.exists() or link[1] and f'id="{link[1]}"' not in target.read_text():
            sys.exit(f"{page}: the link {'#'.join(link)} leads nowhere")
        count += 1
print(f"book: {len(pages)} pages, {count} links")
SCRIPT
