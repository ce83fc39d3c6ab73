#!/bin/sh
# The newcomer's path on a bare Debian 12: makes a root file system with nothing but git in it, and goes through the
# README's two commands there. As root; needs mmdebstrap or debootstrap, and Debian's packages within reach.
#   bare-debian.sh [WORK]     (WORK: where the root file system is put; it is removed at the end)
set -eu
source=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
work=${1:-$(mktemp -d)}
root="$work/bare-debian"
suite=bookworm

[ "$(id -u)" = 0 ] || { echo "bare-debian: wanted root (it makes a root file system), got user $(id -un)" >&2; exit 2; }
cleanup() {
  umount "$root/proc" 2>/dev/null || true
  rm -rf --one-file-system "$root"
}
trap cleanup EXIT

mkdir -p "$work"
if command -v mmdebstrap >/dev/null 2>&1; then
  mmdebstrap --variant=apt --include=git,ca-certificates $suite "$root"
else
  debootstrap --variant=minbase --include=git,ca-certificates $suite "$root"
fi
cp /etc/resolv.conf "$root/etc/resolv.conf"
mount -t proc proc "$root/proc"

git -c safe.directory="$source" clone -q "$source" "$root/attention"
inside() {
  chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    ${OPENBLAS_CORETYPE:+OPENBLAS_CORETYPE="$OPENBLAS_CORETYPE"} \
    ${OPENBLAS_L2_SIZE:+OPENBLAS_L2_SIZE="$OPENBLAS_L2_SIZE"} "$@"
}
echo "== a bare Debian: $(inside cat /etc/debian_version), $(inside dpkg-query -f '.\n' -W | wc -l) packages =="
inside sh -c 'for p in c++ cmake doxygen; do command -v $p && exit 1; done; echo "no compiler, no cmake, no doxygen"'
echo "== ./course =="
time_start=$(date +%s)
inside /attention/course
echo "== took $(($(date +%s) - time_start)) s; ./course test =="
time_start=$(date +%s)
inside /attention/course test
echo "== took $(($(date +%s) - time_start)) s; done =="
inside test -s /attention/build/release/docs/html/index.html
