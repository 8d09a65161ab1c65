#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/kafka-run-class.sh" odradek.cli.server_stop "$@"
