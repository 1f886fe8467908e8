#!/bin/sh
# setup.sh - installs what is missing, through apt, and says what.
#
#   setup.sh run     what building and serving need
#   setup.sh test    and what `make test` needs
#   setup.sh all     and what the gates of .ci/run need
#
# Nothing is asked of apt when all is there. Without dpkg (not Debian) it only says what is needed.
set -eu

run="gcc libc6-dev make libmicrohttpd-dev libjansson-dev libopenblas-dev zlib1g-dev"
test="libcriterion-dev libyaml-dev curl jq openssl"
all="clang clang-format clang-tidy libclang-rt-dev cppcheck valgrind haproxy prometheus chromium python3-venv"

case "${1:-}" in
run) need=$run ;;
test) need="$run $test" ;;
all) need="$run $test $all" ;;
*)
    echo "usage: setup.sh run|test|all" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null; then
    echo "setup: not a Debian system; needed are the equivalents of: $need" >&2
    exit 0
fi

present=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $need 2>/dev/null || true)
missing=
for package in $need; do
    printf '%s\n' "$present" | grep -qx "installed $package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
    as_root=sudo
    command -v sudo >/dev/null || {
        echo "setup: missing:$missing; install them as root: apt-get install$missing" >&2
        exit 1
    }
fi
echo "setup: installing$missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get -q -o Acquire::Retries=3 update
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=3 install --no-install-recommends $missing
