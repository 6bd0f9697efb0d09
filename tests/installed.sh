#!/usr/bin/env bash
# Read by the scripts that try third-party programs: installs packages by name and version below the directory `$kept`, once.
#
# Registries fail now and then, so `.ci/again` tries three times, and each time has a limit.
again=$PWD/.ci/again

# installed DIRECTORY COMMAND...: runs the command in the directory, unless this very command was run there before.
installed() {
    local directory=$kept/$1
    shift
    [ "$(cat "$directory/.installed" 2>/dev/null)" = "$*" ] && return
    rm -rf "$directory"
    mkdir -p "$directory"
    (cd "$directory" && "$@" >install.log 2>&1) || {
        echo "not installed: $*" >&2
        tail -n 20 "$directory/install.log" >&2
        return 1
    }
    echo "$*" >"$directory/.installed"
}

python_packages() {
    timeout --kill-after=10 60 python3 -m venv . && "$again" timeout --kill-after=10 300 bin/python -m pip install --quiet --disable-pip-version-check "$@"
}

node_packages() {
    echo '{"private": true}' >package.json
    "$again" timeout --kill-after=10 300 npm install --no-audit --no-fund --no-update-notifier "$@"
}
