# Sourced, not run: `ensure_codex` installs the Codex CLI, once, for the tests that run it against a gateway. It is none of the packages
# of package.json, because those who only start a gateway would wait for its 170 MB. The caller has set `root` and sourced install.sh.

codex_home=$root/.tollgate/codex

# Whether the arguments of scripts/test ask for its tests: they name no file, or one of test/clients. The tests demand it on Linux on
# x64, and are skipped elsewhere.
needs_codex() {
  [ "$(uname -sm 2>/dev/null)" = "Linux x86_64" ] || return 1
  names_files=no
  for argument in "$@"; do
    case $argument in
      test/clients*) return 0 ;;
      test*) names_files=yes ;;
    esac
  done
  [ "$names_files" = no ]
}

has_codex() {
  [ -n "${TOLLGATE_TEST_CODEX:-}" ] || cmp -s "$root/scripts/clients/codex/package-lock.json" "$codex_home/installed"
}

ensure_codex() {
  echo "Installing Codex into .tollgate/codex (once, 170 MB) ..." >&2
  rm -rf "$codex_home"
  mkdir -p "$codex_home"
  cp "$root/scripts/clients/codex/package.json" "$root/scripts/clients/codex/package-lock.json" "$codex_home"
  (cd "$codex_home" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2) || return 1
  cp "$codex_home/package-lock.json" "$codex_home/installed"
}
