#!/bin/sh
# self_exec.sh N PROGRAM [ARG...]: executes itself N times in its own process, then PROGRAM.
n=$1
shift
if [ "$n" -gt 0 ]; then
    exec "$0" "$((n - 1))" "$@"
fi
exec "$@"
