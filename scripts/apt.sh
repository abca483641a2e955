# Sourced, not run: `apt_install NAME...` installs Debian packages without questions and without starting their services. Answers
# false, having changed nothing, where that is not possible: no apt-get, or not root.

can_apt_install() {
  command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ]
}

apt_install() {
  can_apt_install || return 1
  echo "Installing $* (once) ..." >&2
  # A policy of 101 tells packages not to start what they install.
  policy=/usr/sbin/policy-rc.d
  own_policy=
  if [ ! -e "$policy" ]; then
    own_policy=yes
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
  fi
  apt_status=0
  {
    apt-get update -qq &&
      DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
  } </dev/null >&2 || apt_status=$?
  [ -z "$own_policy" ] || rm -f "$policy"
  return "$apt_status"
}
