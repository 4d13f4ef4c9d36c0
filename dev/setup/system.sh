#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What only the system can give: a C compiler, make, cargo and, for Spark and the code generator, Java.
# Installs Debian's packages when it may, else says in a sentence what is missing and how to get it.
set -euo pipefail

readonly CARGO_WANTED="1.89"
readonly JAVA_WANTED=17

fail() { printf 'framegate set-up: %s\n' "$1" >&2; exit 3; }

can_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

apt_updated=""
install_packages() {
    printf 'installing: %s\n' "$*"
    if [ -z "$apt_updated" ]; then
        apt-get -qq update
        apt_updated=yes
    fi
    DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends "$@" >/dev/null
}

# need COMMAND-THAT-SUCCEEDS-WHEN-THERE  WHAT  PACKAGES...
need() {
    local probe="$1" what="$2"
    shift 2
    if eval "$probe"; then return; fi
    if can_install; then install_packages "$@"; fi
    eval "$probe" || fail "$what is missing. On Debian or Ubuntu: apt install $*; elsewhere use your system's package of it."
}

# shellcheck disable=SC2317  # called through need's eval
compiles() { echo 'int main(void){return 0;}' | "${CC:-cc}" -xc - -o /dev/null 2>/dev/null; }

# shellcheck disable=SC2317
java_is_new() {
    local java="${JAVA_HOME:+$JAVA_HOME/bin/}java" version
    version="$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -1)"
    [ -n "$version" ] && [ "$version" -ge "$JAVA_WANTED" ]
}

cargo_is_new() {
    local version
    version="$(cargo --version 2>/dev/null | cut -d' ' -f2)"
    [ -n "$version" ] && [ "$(printf '%s\n%s\n' "$CARGO_WANTED" "$version" | sort -V | head -1)" = "$CARGO_WANTED" ]
}

need compiles "a C compiler (gcc with libc headers)" gcc libc6-dev
need 'command -v make >/dev/null' "make" make
need java_is_new "a Java runtime $JAVA_WANTED or newer" openjdk-17-jre-headless
cargo_is_new || fail "cargo $CARGO_WANTED or newer is missing (found: $(cargo --version 2>/dev/null || echo none)). Install Rust with rustup, or update it: rustup update stable. Then run make again."
