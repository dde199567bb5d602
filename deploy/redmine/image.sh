# Redmine 6.x from the packages of a newer Debian ($suite); sourced by redmine-up.
#
# They are unpacked into an image in the cache; this machine's own packages and apt sources do not change.
# Commands run in the image, in a separate mount namespace, where the server's directory has the same path
# as outside. So nothing stays mounted, and only the code that provides packages differs between versions.
root=''   # the directory with the packages: the image

provide() {
  apt_install mmdebstrap debian-archive-keyring util-linux sqlite3 curl jq
  [ "$(id -u)" = 0 ] || fail 3 "Redmine $release runs in an image of Debian's $suite, which needs root."
  unshare --mount true 2>/dev/null || fail 3 \
    "Redmine $release runs in a mount namespace, and this container may not make one (CAP_SYS_ADMIN)."
  root=$cache/debian-$suite
  mkdir -p "$cache"
  exec 8>"$root.lock"
  flock -n 8 || { say "another start makes $root; waiting for it ..."; flock 8; }
  if [ ! -f "$root/.complete" ]; then
    [ "$install" = 1 ] || fail 3 "there is no image $root (not made because of --no-install)."
    rm -rf --one-file-system "$root"
    logged "making an image of Debian's $suite in $root (about a minute, 400 MB)" "$root.log" make_image || fail 3 \
      "Debian's $suite, where Redmine $release is from, cannot be had here; log: $root.log" \
      "Next: name a mirror that has it in REDMINE_UP_MIRROR, then run this again."
  fi
  exec 8>&-
}

make_image() {
  local key=/usr/share/keyrings/debian-archive-keyring.gpg mirror=${REDMINE_UP_MIRROR:-}
  [ -n "$mirror" ] || ! grep -q '^ID=debian$' /etc/os-release ||
    mirror=$(cat /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null |
      sed -nE 's/^(URIs:|deb( \[[^]]*\])?) +([^ ]+).*/\3/p' | head -n 1)
  umask 022
  # a mirror that is some weeks old is acceptable, because the packages are signed
  mmdebstrap --mode=root --variant=apt --skip=check/qemu \
    --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Check-Valid-Until "false"' --dpkgopt=force-unsafe-io \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
    --include=redmine,redmine-sqlite,ruby,puma \
    --essential-hook='echo redmine redmine/instances/default/dbconfig-install boolean false |
                      chroot "$1" debconf-set-selections' \
    "$suite" "$root" "deb [signed-by=$key] ${mirror:-http://deb.debian.org/debian} $suite main" &&
    touch "$root/.complete"
}

# inside COMMAND...: run in the application directory, in the image
inside() {
  mkdir -p "$root$dir"
  exec unshare --mount --propagation private bash -c '
    root=$1 dir=$2
    shift 2
    mount --bind "$dir" "$root$dir" && mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" &&
      exec chroot "$root" sh -c "cd \"\$0\" && exec \"\$@\"" "$dir/app" "$@"
  ' inside "$root" "$dir" "$@"
}
