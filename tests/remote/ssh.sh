#!/usr/bin/env bash
# allowexec on another machine, as README describes it: a real sshd on loopback with the server as a forced command, and the
# official Python client at the far end of `ssh`.
#
#   tests/remote/ssh.sh [BINARY]      default: target/debug/allowexec
#
# Needs the packages openssh-server, openssh-client and python3-venv, and the Python package `mcp`, which is installed into an
# environment of its own under $ALLOWEXEC_TEST_TOOLS (default: ~/.cache/allowexec-tests). Ends what it started, by number.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
binary=$(realpath "${1:-${CARGO_TARGET_DIR:-$here/../../target}/debug/allowexec}")
tools=${ALLOWEXEC_TEST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/allowexec-tests}

# Each by itself: `command -v` is content with one of its words.
for program in /usr/sbin/sshd ssh ssh-keygen; do
    command -v "$program" > /dev/null && continue
    timeout 300 apt-get update -qq
    DEBIAN_FRONTEND=noninteractive timeout 300 apt-get install -y -qq --no-install-recommends openssh-server openssh-client > /dev/null
    break
done
python=$tools/mcp-2.3.0/bin/python
if ! "$python" -c 'import mcp' 2> /dev/null; then
    python3 -m venv --clear "$tools/mcp-2.3.0"
    timeout 300 "$python" -m pip install --quiet --disable-pip-version-check mcp==2.3.0
fi

dir=$(mktemp -d)
sshd=
cleanup() {
    [ -z "$sshd" ] || kill "$sshd" 2> /dev/null || true
    rm -rf "$dir"
}
trap cleanup EXIT

ssh-keygen -q -t ed25519 -N '' -f "$dir/host_key"
ssh-keygen -q -t ed25519 -N '' -f "$dir/key"
# What README tells the operator to write: this key starts this server and can do nothing else.
echo "restrict,command=\"$binary --allow echo,sh\" $(cat "$dir/key.pub")" > "$dir/authorized_keys"
chmod 600 "$dir/authorized_keys"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat > "$dir/sshd_config" << END
ListenAddress 127.0.0.1
Port $port
HostKey $dir/host_key
PidFile none
AuthorizedKeysFile $dir/authorized_keys
AuthenticationMethods publickey
PermitRootLogin forced-commands-only
StrictModes no
UsePAM no
# A line that goes dead without a word is given up after two seconds.
ClientAliveInterval 1
ClientAliveCountMax 2
END
# Where sshd, as root, wants an empty directory.
[ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd
/usr/sbin/sshd -t -f "$dir/sshd_config"
/usr/sbin/sshd -D -e -f "$dir/sshd_config" 2> "$dir/sshd.log" &
sshd=$!
echo "[127.0.0.1]:$port $(cut -d ' ' -f 1,2 "$dir/host_key.pub")" > "$dir/known_hosts"

if ! timeout --kill-after=10 120 "$python" "$here/client.py" "$dir" "$port" "$(id -un)"; then
    sed 's/^/sshd: /' "$dir/sshd.log" >&2
    exit 1
fi
