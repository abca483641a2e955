#!/bin/sh
# Runs once, when the database is made: the gateway's own role, which owns a database of its name and can do nothing else.
set -eu
psql -v ON_ERROR_STOP=1 -v name="${TOLLGATE_ROLE:-tollgate}" -v password="$TOLLGATE_PASSWORD" \
  --username "$POSTGRES_USER" --dbname postgres <<'SQL'
CREATE ROLE :"name" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD :'password';
CREATE DATABASE :"name" OWNER :"name";
REVOKE ALL ON DATABASE :"name" FROM PUBLIC;
SQL
