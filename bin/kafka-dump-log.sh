#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/kafka-run-class.sh" org.apache.kafka.tools.DumpLogSegments "$@"
