#!/bin/sh
# Prints the port that `make run` has: PORT, or the one of --port in ARGS. If a program listens
# there, says so, proposes a free one and ends with status 1. Where there is no /proc/net (other
# systems than Linux) the server itself reports a taken port.
#
#   port.sh port [argument of the server ...]
set -u

port=$1
while [ $# -gt 1 ]; do
    shift
    [ "$1" != --port ] || port=${2:-$port}
done

# The ports that are listened on, one a line. Fields of /proc/net/tcp: "0: 0100007F:18EB ... 0A".
listening() {
    cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | while read -r _ address _ state _; do
        [ "$state" != 0A ] || echo $((0x${address##*:}))
    done
}

taken=$(listening)
is_taken() { printf '%s\n' "$taken" | grep -qx "$1"; }

if is_taken "$port"; then
    free=$((port + 1))
    while is_taken $free; do free=$((free + 1)); done
    [ $free -le 65535 ] || free=7000
    echo "Port $port is taken: another program listens there. This one is free: make run PORT=$free" >&2
    exit 1
fi
echo "$port"
