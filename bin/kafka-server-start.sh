#!/bin/sh
if [ $# -lt 1 ]; then echo "USAGE: $0 [-daemon] server.properties [--override property=value]*"; exit 1; fi
if [ "$1" = -daemon ]; then shift; set -- -daemon -name kafkaServer kafka.Kafka "$@"; else set -- kafka.Kafka "$@"; fi
exec "$(dirname "$(readlink -f "$0")")/kafka-run-class.sh" "$@"
