#!/bin/sh
# Runs a tool by the name of its Java class, with the virtual environment beside this directory if there is one.
home=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
LOG_DIR=${LOG_DIR:-$home/logs}
export LOG_DIR
if [ -x "$home/.venv/bin/python" ]; then python=$home/.venv/bin/python; else python=${PYTHON:-python3}; fi
case $1 in
  odradek.*) exec "$python" -m "$@" ;;
  *) exec "$python" -m odradek.cli.run_class "$@" ;;
esac
