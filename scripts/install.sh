# Sourced, not run: what the commands share. `ensure_packages` installs the locked packages when they are missing or another
# lock's; when they are there it costs one `cmp`. `node` is then the Node that the lock pins, or else the machine's own
# if that is new enough. The caller has set `root` to the repository's directory.

node=$root/node_modules/.bin/node

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

install_packages() {
  command -v npm >/dev/null || fail "npm is missing: install Node.js 20 or newer (it comes with npm), then run this again."
  echo "Installing packages (once) ..." >&2
  # Only errors: under an older Node npm warns about engines, and the pinned Node is among the packages.
  (cd "$root" && npm ci --ignore-scripts --loglevel=error >&2) || fail "npm ci failed; its message is above."
  # Where the pinned binary does not run (another libc), the machine's own Node has to do.
  if [ -e "$node" ] && ! "$node" --version >/dev/null 2>&1; then rm -f "$node"; fi
  cp "$root/package-lock.json" "$root/node_modules/.installed-lock.json"
}

has_packages() {
  cmp -s "$root/package-lock.json" "$root/node_modules/.installed-lock.json"
}

ensure_packages() {
  has_packages || install_packages
  if [ ! -x "$node" ]; then
    node=$(command -v node) || fail "Node.js is missing: install version $(cat "$root/.nvmrc") (see .nvmrc)."
    "$node" -e 'process.exit(parseInt(process.versions.node) >= 24 ? 0 : 1)' ||
      fail "Node.js $("$node" --version) is too old: install version $(cat "$root/.nvmrc") (see .nvmrc)."
  fi
  PATH=$root/node_modules/.bin:$PATH
  export PATH
}
