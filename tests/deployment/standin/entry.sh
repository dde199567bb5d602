#!/bin/sh
# Stands for the entrypoints of the official images of PostgreSQL and Redis: what compose.yaml uses of them, no more.
set -eu
[ "${1:-}" != redis-server ] || exec "$@"
if [ "$(id -u)" = 0 ]; then
  chown postgres: "$PGDATA"
  exec setpriv --reuid postgres --regid postgres --init-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb -D "$PGDATA" -U "$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" --auth-host=scram-sha-256 --auth-local=trust > /dev/null
  echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
  pg_ctl -D "$PGDATA" -w -o '-c listen_addresses=' start > /dev/null
  createdb -U "$POSTGRES_USER" "$POSTGRES_DB"
  pg_ctl -D "$PGDATA" -w -m fast stop > /dev/null
fi
exec postgres -D "$PGDATA" -c listen_addresses='*'
