# Sourced, not run: `ensure_console` builds the console's page when a source of it is newer than what was built; when nothing is, it
# costs one `find`. A build that fails costs the page, not the gateway. The caller has set `root` and `node` (install.sh).

ensure_console() {
  built=$root/dist/console/index.html
  if [ -e "$built" ]; then
    newer=$(find "$root/src/console" "$root/scripts/console.ts" "$root/package-lock.json" -newer "$built" 2>/dev/null | head -n 1)
    [ -n "$newer" ] || return 0
  fi
  "$node" "$root/scripts/console.ts" >&2 || echo "The console was not built (above: why); all else works without it." >&2
}
