# Sourced, not run: what the commands share. `ensure_packages` installs the locked packages when they are missing or another
# lock's; when they are there it costs one `cmp`. `ensure_packages --omit=dev` is content with what runs and builds the gateway.
# `node` is then the Node that the lock pins, or else the machine's own if that is new enough. The caller has set `root`
# to the repository's directory.

node=$root/node_modules/.bin/node
installed=$root/node_modules/.installed-lock.json
installed_to_run=$root/node_modules/.installed-lock-run.json

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

# Runs "$@" and tells how long it has taken and how much is there: on a terminal each second in one line, elsewhere every ten seconds.
with_progress() {
  "$@" &
  running=$!
  trap 'kill $running 2>/dev/null; exit 130' INT
  trap 'kill $running 2>/dev/null; exit 143' TERM
  seconds=0
  if [ -t 2 ]; then every=1 before='\r' after=; else every=10 before= after='\n'; fi
  while kill -0 $running 2>/dev/null; do
    sleep 1
    seconds=$((seconds + 1))
    [ $((seconds % every)) = 0 ] || continue
    size=$(du -sm "$root/node_modules" 2>/dev/null | cut -f 1) || true
    # shellcheck disable=SC2059 # the two words are formats
    printf "$before  %s s, %s MB$after" "$seconds" "${size:-0}" >&2
  done
  [ -z "$before" ] || printf '\r                    \r' >&2
  trap - INT TERM
  wait $running
}

# `--omit=dev` or nothing. Only errors are shown: under an older Node npm warns about engines, and the pinned Node is among the packages.
install_packages() {
  command -v npm >/dev/null || fail "npm is missing: install Node.js 20 or newer (it comes with npm), then run this again."
  [ -w "$root" ] || fail "$root cannot be written: give this user the right to, or clone the repository elsewhere."
  if [ -n "$*" ]; then what="what runs the gateway: about 360 MB"; else what="all packages, with what tests need: about 900 MB"; fi
  echo "Installing $what, once ..." >&2
  log=$(mktemp)
  # Without a network two tries of a few seconds are enough to know it.
  if ! with_progress npm ci --prefix "$root" "$@" --ignore-scripts --loglevel=error --no-progress \
    --fetch-retry-mintimeout=2000 --fetch-retry-maxtimeout=5000 >"$log" 2>&1; then
    cause=$(grep -oE 'ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENOSPC|EACCES' "$log" | head -n 1) || true
    case $cause in
      '') cat "$log" >&2 && rm -f "$log" && fail "npm ci failed; its message is above." ;;
      ENOSPC) rm -f "$log" && fail "The disk is full (ENOSPC): make room, then run this again." ;;
      EACCES) cat "$log" >&2 && rm -f "$log" && fail "npm may not write a file (EACCES); its message is above." ;;
      *) rm -f "$log" && fail "npm cannot reach its registry ($cause)." \
        "Check the network, or npm's settings of registry and proxy (npm config list), then run this again." ;;
    esac
  fi
  rm -f "$log"
  # The headers of the pinned Node take 67 MB and are for compilers.
  rm -rf "$root"/node_modules/node-*/include
  # Where the pinned binary does not run (another libc), the machine's own Node has to do.
  if [ -e "$node" ] && ! "$node" --version >/dev/null 2>&1; then rm -f "$node"; fi
  if [ -n "$*" ]; then cp "$root/package-lock.json" "$installed_to_run"; else cp "$root/package-lock.json" "$installed"; fi
}

has_packages() {
  cmp -s "$root/package-lock.json" "$installed"
}

ensure_packages() {
  # A machine that has had all of the packages gets all of a new lock's.
  if has_packages; then
    :
  elif [ "${1:-}" != --omit=dev ] || [ -e "$installed" ]; then
    install_packages
  else
    cmp -s "$root/package-lock.json" "$installed_to_run" || install_packages --omit=dev
  fi
  if [ ! -x "$node" ]; then
    node=$(command -v node) || fail "Node.js is missing: install version $(cat "$root/.nvmrc") (see .nvmrc)."
    "$node" -e 'process.exit(parseInt(process.versions.node) >= 24 ? 0 : 1)' ||
      fail "Node.js $("$node" --version) is too old: install version $(cat "$root/.nvmrc") (see .nvmrc)."
  fi
  PATH=$root/node_modules/.bin:$PATH
  export PATH
}
