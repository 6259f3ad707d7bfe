#!/bin/sh
# Installs the Debian packages that sluice needs and that are missing; says and does nothing when none is.
#
#   scripts/packages.sh build [format] [tidy] [arm64]
#
# Tools count as present when their command is found, however they came; libraries when dpkg has their package.
# Needs root, or sudo. On a system without dpkg nothing is checked: there CMake says what it does not find.
set -u

build_tools="g++:g++ cmake:cmake ninja:ninja-build pkg-config:pkg-config"
build_libraries="libboost-dev libcli11-dev libedit-dev libexpected-dev libfmt-dev libgmock-dev libgtest-dev libnuma-dev libpcre2-dev libsimdjson-dev liburing-dev
  libutf8proc-dev libxxhash-dev nlohmann-json3-dev"
format_tools="clang-format-14:clang-format-14"
tidy_tools="clang-tidy-14:clang-tidy-14 run-clang-tidy-14:clang-tidy-14"

arm64_tools="aarch64-linux-gnu-g++:g++-aarch64-linux-gnu qemu-aarch64:qemu-user"
arm64_libraries="googletest"

tools= libraries=
for group in "$@"; do
  case $group in
    build) tools="$tools $build_tools" libraries="$libraries $build_libraries" ;;
    format) tools="$tools $format_tools" ;;
    tidy) tools="$tools $tidy_tools" ;;
    arm64) tools="$tools $arm64_tools" libraries="$libraries $arm64_libraries" ;;
    *) echo "scripts/packages.sh: no such group: $group (build, format, tidy, arm64)" >&2; exit 2 ;;
  esac
done

command -v dpkg-query >/dev/null || exit 0

missing=
for tool in $tools; do
  command -v "${tool%%:*}" >/dev/null || case " $missing " in
    *" ${tool##*:} "*) ;;
    *) missing="$missing ${tool##*:}" ;;
  esac
done
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $libraries 2>/dev/null | sed -n 's/^installed //p')
for library in $libraries; do
  printf '%s\n' "$installed" | grep -qx "$library" || missing="$missing $library"
done
[ -n "$missing" ] || exit 0

give_up() {
  echo "sluice: these Debian packages are missing and $1; install them and try again:$missing" >&2
  exit 1
}
command -v apt-get >/dev/null || give_up "there is no apt-get"
as_root=
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || give_up "only root can install them (there is no sudo)"
  as_root=sudo
  [ -t 0 ] || as_root="sudo -n"  # nobody is there to type a password
  $as_root true || give_up "sudo does not let this user install them"
fi

echo "sluice: installing Debian packages:$missing" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" >>"$log" 2>&1 </dev/null; }
apt update  # if this fails, the lists that are there may still do
if ! apt install -y --no-install-recommends $missing; then
  tail -n 15 "$log" >&2
  give_up "apt-get could not install them (its last lines are above)"
fi
