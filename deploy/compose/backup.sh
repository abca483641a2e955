#!/bin/sh
# Dumps the database into $DIRECTORY, again every $EVERY_SECONDS (0: once), and keeps the last $KEEP dumps. The PG* variables say which
# database. A dump that fails is tried again after ten minutes and leaves no file. Restore one with:
#   pg_restore --clean --if-exists --no-owner --dbname tollgate FILE
set -eu
while :; do
  name=$DIRECTORY/tollgate-$(date -u +%Y%m%dT%H%M%SZ).dump
  if pg_dump --format=custom --file="$name.part"; then
    mv "$name.part" "$name"
    echo "wrote $name"
    ls -1 "$DIRECTORY"/tollgate-*.dump | sort -r | tail -n "+$((KEEP + 1))" | xargs -r rm --
    [ "$EVERY_SECONDS" -gt 0 ] || exit 0
    sleep "$EVERY_SECONDS"
  else
    rm -f "$name.part"
    echo "the dump failed" >&2
    [ "$EVERY_SECONDS" -gt 0 ] || exit 1
    sleep 600
  fi
done
