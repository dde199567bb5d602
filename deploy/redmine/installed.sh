# Redmine 5.0 from this machine's own packages; sourced by redmine-up.
root=''   # the directory with the packages: this machine's root

provide() {
  # the package must not set up its own database: redmine-up makes one
  installed redmine || ! command -v debconf-set-selections >/dev/null || [ "$(id -u)" != 0 ] ||
    echo redmine redmine/instances/default/dbconfig-install boolean false | debconf-set-selections
  # a newer Ruby, such as from Debian's security updates, has a bundler that does not find the gems in Debian's packages
  apt_install ruby-bundler
  BUNDLER_VERSION=$(dpkg-query -W -f '${Version}' ruby-bundler | sed 's/[-+~].*//')
  export BUNDLER_VERSION
  apt_install redmine redmine-sqlite puma sqlite3 curl jq
}

# inside COMMAND...: run in the application directory
inside() { cd "$app" && exec "$@"; }
