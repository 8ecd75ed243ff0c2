# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Install Debian packages that are missing. Source this file.

# as_root COMMAND...: run it as root, through sudo where we are not root.
# Exits with 1 when there is neither.
as_root() {
    require_root "to run: $*"
    if [[ $EUID -eq 0 ]]; then
        "$@"
    else
        sudo "$@"
    fi
}

# require_root WHY: exits with 1 unless we are root or have sudo.
require_root() {
    if [[ $EUID -ne 0 ]] && ! command -v sudo >/dev/null; then
        echo "error: root is needed $1" >&2
        echo "       Run this as root, or install sudo." >&2
        exit 1
    fi
}

# missing_packages PKG...: prints those that are not installed, one a line.
missing_packages() {
    local pkg
    for pkg in "$@"; do
        # One line for each architecture the package is known for.
        if ! dpkg-query -W -f='${db:Status-Status}\n' "$pkg" 2>/dev/null |
            grep -x installed >/dev/null; then
            echo "$pkg"
        fi
    done
}

# install_missing PKG...: installs those that are not installed. Leaves the
# machine as it is when none is missing. Exits with 1 when it cannot.
install_missing() {
    local -a missing
    local pkg
    local update=no

    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        echo "error: no dpkg and apt-get here (this is for Debian 12). Needed: $*" >&2
        exit 1
    fi
    mapfile -t missing < <(missing_packages "$@")
    if [[ ${#missing[@]} -eq 0 ]]; then
        return 0
    fi
    require_root "to install: ${missing[*]}"

    for pkg in "${missing[@]}"; do
        # The package lists are absent or too old when they do not know it.
        if ! apt-cache show "$pkg" >/dev/null 2>&1; then
            update=yes
        fi
    done
    if [[ $update == no ]] && apt_install "${missing[@]}"; then
        return 0
    fi
    # Old lists also name package files that are no longer on the server.
    if as_root apt-get -q update && apt_install "${missing[@]}"; then
        return 0
    fi
    echo "error: could not install: ${missing[*]}" >&2
    exit 1
}

apt_install() {
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y -o DPkg::Lock::Timeout=120 install --no-install-recommends "$@"
}
