#!/bin/sh
# The command deskbridge for root: systemd runs it under deskbridge's account, with the settings and secrets in /etc/deskbridge.
set -eu
refuse() { echo "deskbridge: $1" >&2; exit 1; }
program=/opt/deskbridge/bin/deskbridge
[ "$(id -u)" = 0 ] || refuse "the secrets in /etc/deskbridge are root's: type it as root"
for secret in database-url secret-keys; do
  [ -e "/etc/deskbridge/$secret" ] || refuse "/etc/deskbridge/$secret is missing; $program secret key makes a key"
done
exec systemd-run --quiet --collect --wait --pty --pipe --unit="deskbridge-command-$$" \
  --property=EnvironmentFile=-/etc/deskbridge/deskbridge.env "$program" "$@"
