# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# setup.sh: what tests/run.sh and fixtures/demo.sh share: the Debian packages they need, and the build. Sourced.
#
# A package counts as there when what we need of it works, so that a compiler, a node or a python of another origin does.
# Root gets what is missing installed; anybody else is told the one command that does it.

iket_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*" >&2; }

# iket_has PACKAGE: does what we need of this Debian package work here?
iket_has() {
    case $1 in
    gcc) command -v cc ;;
    libc6-dev) echo '#include <stdio.h>' | cc -E - ;;
    cmake) command -v cmake ;;
    ninja-build) command -v ninja ;;
    pkg-config) command -v pkg-config ;;
    protobuf-c-compiler) command -v protoc-c ;;
    libprotobuf-c-dev) pkg-config --exists libprotobuf-c ;;
    zlib1g-dev) pkg-config --exists zlib ;;
    libdeflate-dev) pkg-config --exists libdeflate ;;
    libcjson-dev) pkg-config --exists libcjson ;;
    libmicrohttpd-dev) pkg-config --exists libmicrohttpd ;;
    libsqlite3-dev) pkg-config --exists sqlite3 ;;
    uthash-dev) echo '#include <uthash.h>' | cc -E - ;;
    libyajl-dev) pkg-config --exists yajl ;;
    libelf-dev) pkg-config --exists libelf ;;
    python3) command -v python3 ;;
    python3-venv) python3 -c 'import ensurepip, venv' ;;
    nodejs) command -v node ;;
    chromium) command -v chromium ;;
    fonts-liberation) compgen -G '/usr/share/fonts/truetype/liberation*/LiberationSans-Regular.ttf' ;;
    fonts-dejavu-core) compgen -G '/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf' ;;
    shellcheck | scdoc | mandoc | cppcheck) command -v "$1" ;;
    util-linux) command -v setpriv ;;
    *) return 1 ;;
    esac >/dev/null 2>&1
}

# iket_need PACKAGE...: installs those that are missing, or says how and ends with 2.
iket_need() {
    local package missing=()
    for package in "$@"; do
        iket_has "$package" || missing+=("$package")
    done
    if [ ${#missing[@]} -eq 0 ]; then return; fi
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        say "These Debian packages are missing. As root:"
        say "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
        exit 2
    fi
    say "Installing ${missing[*]}"
    if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}"; } >&2; then
        say "apt-get failed: install by hand ${missing[*]}"
        exit 2
    fi
}

# iket_need_build [PACKAGE...]: what a build needs, and those.
iket_need_build() {
    iket_need gcc libc6-dev cmake ninja-build pkg-config protobuf-c-compiler libprotobuf-c-dev zlib1g-dev libdeflate-dev \
        libcjson-dev libmicrohttpd-dev libsqlite3-dev uthash-dev "$@"
}

# iket_build FOLDER [CMAKE ARGUMENT...]: configures and builds there, all or only iket_targets; can be called again.
iket_targets=(all)
iket_build() {
    local folder=$1
    shift
    local generator=()
    if [ ! -e "$folder/CMakeCache.txt" ]; then generator=(-G Ninja); fi
    cmake -S "$iket_root" -B "$folder" "${generator[@]}" "$@" >&2 &&
        cmake --build "$folder" --parallel "$(nproc)" --target "${iket_targets[@]}" >&2
}
