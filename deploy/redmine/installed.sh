# Redmine 5.0 from this machine's own packages; sourced by redmine-up.
root=''   # where the packages are

provide() {
  # the package must not set up a database of its own: we make one
  installed redmine || ! command -v debconf-set-selections >/dev/null || [ "$(id -u)" != 0 ] ||
    echo redmine redmine/instances/default/dbconfig-install boolean false | debconf-set-selections
  # a newer Ruby, as from Debian's security updates, brings a bundler that does not find what Debian's packages hold
  apt_install ruby-bundler
  BUNDLER_VERSION=$(dpkg-query -W -f '${Version}' ruby-bundler | sed 's/[-+~].*//')
  export BUNDLER_VERSION
  apt_install redmine redmine-sqlite puma sqlite3 curl jq
}

# inside COMMAND...: run in the application directory
inside() { cd "$app" && exec "$@"; }
