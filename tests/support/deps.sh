#!/bin/sh
# Installs what a target of the Makefile needs: sees what is missing, installs it with apt-get,
# fetches redismodule.h. When nothing is missing it prints nothing and does not call apt-get.
#
#   deps.sh word ...     one or more of these:
#
#   build      what building the module and the tool takes (`make deps`)
#   run        build, and a server
#   python     the interpreter
#   bench      build, a server and Python's client
#   test       that, and the packages of the tests
#   libraries  libleveldb, numpy and pandas; in build/venv the newest of both, Polars, pyarrow and duckdb
#   browser    node and the browser of `make test-page`
#   fuzzer     build, with libFuzzer
#   gcovr, valgrind
#   compilers  what making a fresh Debian with other compilers takes
#   lint       the tools of `make lint`; where PyPI cannot be reached, ruff's test is skipped
#   tidy       those of `make tidy`, which only Debian 12 has
#   monitoring Debian's Prometheus and redis_exporter, unpacked into build/monitoring
#   arm64, s390x   a cross compiler, qemu-user, and into build/debian/<architecture> its libraries and server
#   deb        what building the Debian package takes
#   musl       musl-gcc, and what unpacking and building Debian's source packages takes
#   debs       what building it for other releases and architectures takes, in a fresh Debian
#   test-deb   that, and what trying the packages takes
#   sbom       the SPDX tools of `make dist`, in build/venv
#
# and these two alone, whose packages are optional: a language whose toolchain cannot be installed
# is skipped there, with the reason.
#
#   interop    the toolchains of tests/interop, other installations of them included
#   clients    those of tests/clients, and the clients that Debian has
#
# Environment, set by the Makefile: CC, PYTHON, REDIS_SERVER, REDISMODULE_DIR.
set -eu

say() { echo "deps: $*" >&2; }
die() { say "$*"; exit 1; }

# ---- packages: each is looked for by what it provides, so that other installations count too ----

have_command() { command -v "$1" >/dev/null 2>&1; }
have_header() { echo "#include <$1>" | "$CC" -E -x c - >/dev/null 2>&1; }
have_fuzzer() { echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | "$CC" -fsanitize=fuzzer -x c - -o /dev/null 2>/dev/null; }
have_cxx_header() { echo "#include <$1>" | g++ -E -x c++ - >/dev/null 2>&1; }
have_ruff() { build/venv/bin/python -m ruff --version >/dev/null 2>&1; }
have_libraries() { build/venv/bin/python -c "import duckdb, numpy, pandas, polars, pyarrow, redis" >/dev/null 2>&1; }
have_sbom() { build/venv/bin/python -c "import spdx_tools" >/dev/null 2>&1; }
have_module() { "$PYTHON" -c "import $1" >/dev/null 2>&1; }

missing_server() { have_command "$REDIS_SERVER" || echo redis-server; }
missing_python() { have_command "$PYTHON" || echo python3; }

missing_build() {
    have_command "$CC" || case $CC in *clang*) echo clang ;; *) echo gcc ;; esac
    have_header stdio.h || echo libc6-dev
    have_header xxhash.h || echo libxxhash-dev
    have_header hiredis/hiredis.h || echo libhiredis-dev
    have_header openssl/ssl.h || echo libssl-dev
    have_header zlib.h || echo zlib1g-dev
    have_header zstd.h || echo libzstd-dev
    have_header lzma.h || echo liblzma-dev
}

missing_run() {
    missing_build
    missing_server
}

missing_bench() {
    missing_build
    missing_server
    have_module redis || echo python3-redis
}

missing_test() {
    missing_bench
    have_header cmocka.h || echo libcmocka-dev
    have_module pytest || echo python3-pytest
    have_command zsh || echo zsh
    have_command fish || echo fish
    have_command zstd || echo zstd
}

missing_libraries() {
    have_command g++ || echo g++
    have_cxx_header leveldb/filter_policy.h || echo libleveldb-dev
    have_module numpy || echo python3-numpy
    have_module pandas || echo python3-pandas
    have_libraries || have_module ensurepip || echo python3-venv
}

missing_browser() {
    have_command node || echo nodejs
    have_command chromium || echo chromium
    have_command chromedriver || echo chromium-driver
    have_module selenium || echo python3-selenium
}

missing_fuzzer() {
    missing_build
    have_fuzzer || echo clang libclang-rt-dev
}

# Unpacked below, and not installed: the packages would start two daemons.
have_monitoring() {
    for program in prometheus promtool prometheus-redis-exporter; do
        have_command $program || [ -x build/monitoring/usr/bin/$program ] || return 1
    done
}
missing_monitoring() { have_monitoring || have_command apt-get || echo prometheus prometheus-redis-exporter; }

missing_gcovr() { have_command gcovr || echo gcovr; }
missing_valgrind() { have_command valgrind || echo valgrind; }

missing_emulated() {
    have_command "$1-linux-gnu-gcc" || echo "gcc-$1-linux-gnu"
    have_command "qemu-$1-static" || echo qemu-user-static
}
missing_arm64() { missing_emulated aarch64; }
missing_s390x() { missing_emulated s390x; }

# Another version of clang-format breaks lines elsewhere, so it is Debian 12's or none.
missing_tidy() {
    missing_build
    have_module pytest || echo python3-pytest
    if grep -q '^VERSION_CODENAME=bookworm' /etc/os-release; then
        have_command clang-tidy-14 || echo clang-tidy-14
        have_command clang-format-14 || echo clang-format-14
    fi
}

missing_lint() {
    have_command cppcheck || echo cppcheck
    have_command shellcheck || echo shellcheck
    have_ruff || have_module ensurepip || echo python3-venv
}

missing_deb() {
    missing_build
    have_command dpkg-shlibdeps || echo dpkg-dev
}

missing_debs() {
    missing_python
    have_command debootstrap || echo debootstrap
    have_command dpkg-deb || echo dpkg
}

missing_musl() {
    have_command musl-gcc || echo musl-tools
    have_command dpkg-source || echo dpkg-dev
}

missing_test_deb() {
    missing_debs
    have_command ip || echo iproute2
    have_command readelf || echo binutils
    have_command qemu-aarch64-static || echo qemu-user-static
}

missing_sbom() { have_sbom || have_module ensurepip || echo python3-venv; }

missing_compilers() {
    missing_python
    have_command debootstrap || echo debootstrap
}

missing_toolchains() {
    have_module ensurepip || echo python3-venv
    have_command node || echo nodejs
    have_command npm || echo npm
    have_command go || echo golang-go
    have_command cargo || echo cargo
    { have_command java && have_command javac; } || echo default-jdk-headless
    have_command mvn || echo maven
}

missing_interop() {
    missing_toolchains
    have_command chromium || echo chromium
    have_cxx_header xxhash.h || echo g++ libxxhash-dev
    have_cxx_header rocksdb/db.h || echo librocksdb-dev
}

missing_clients() {
    missing_toolchains
    have_command php && php -r 'exit(extension_loaded("redis") ? 0 : 1);' || echo php-cli php-redis
    ruby -rredis -e '' >/dev/null 2>&1 || echo ruby ruby-redis
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# Debian starts a server on port 6379 as soon as its package is installed, and again at every boot.
# We want the program only. policy-rc.d is Debian's way to say so while packages are installed.
policy=/usr/sbin/policy-rc.d

install_packages() {
    say "installing $*"
    if [ ! -e $policy ]; then
        trap 'as_root rm -f $policy' EXIT
        trap 'exit 1' HUP INT TERM
        printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null
        as_root chmod 755 $policy
    fi
    # A third party's broken source must not stop us; what matters is whether the install works.
    as_root apt-get -qq update >/dev/null || say "apt-get update had errors, trying all the same"
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -o DPkg::Lock::Timeout=300 -qq install -y --no-install-recommends "$@" >/dev/null || die "apt-get could not install: $*"
    case " $* " in *" redis-server "*)
        ! have_command systemctl || as_root systemctl --quiet disable redis-server || : ;;
    esac
}

# ---- redismodule.h, from the source package of Debian's own server ----

# apt-get and apt-cache on a private copy of the machine's sources, as source entries, with lists of
# their own in $work: nothing of the machine's configuration changes, and no root is needed.
private_apt() {
    tool=$1
    shift
    "$tool" -q -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts="$work/parts" \
        -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" \
        -o APT::Sandbox::User=root "$@"
}

# Later releases of Debian have no Redis 7 any more, so Debian 12's sources are among them.
copy_sources() {
    release=$(. /etc/os-release && [ "$ID" = debian ] && echo "${VERSION_CODENAME:-}") || :
    [ "$release" != bookworm ] || release=
    mkdir -p "$work/parts" "$work/lists/partial" "$work/cache/archives/partial"
    # One-line style: deb [options] address suite components
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
        sed -nE 's/^[[:space:]]*deb([[:space:]])/deb-src\1/p' |
        sed -E "p; s/([[:space:]])${release:-no release}([[:space:]])/\1bookworm\2/; t; d" >"$work/sources.list" || :
    # Paragraph style: Types: deb
    for file in /etc/apt/sources.list.d/*.sources; do
        [ -e "$file" ] || continue
        sed -E "s/^Types:.*/Types: deb-src/; /^Suites:/s/([[:space:]])${release:-no release}([[:space:]]|$)/\1bookworm $release\2/" \
            "$file" >"$work/parts/${file##*/}"
    done
}

# The newest redis source package whose upstream version matches $1.
source_version() {
    private_apt apt-cache showsrc redis 2>/dev/null |
        sed -n 's/^Version: //p' | grep -E "^([0-9]+:)?$1" | sort -V | tail -n 1
}

# Redis 7 where there is a choice: its header is under the BSD licence and has every call we need.
# Valkey's redismodule.h will not do: it looks up ValkeyModule_ names in the server, which Redis lacks.
fetch_header() {
    say "fetching redismodule.h from the redis source package"
    work=$PWD/build/apt
    rm -rf "$work"
    copy_sources
    private_apt apt-get update >"$work/log" 2>&1 || :
    version=$(source_version '7\.')
    [ -n "$version" ] || version=$(source_version '[0-9]')
    [ -n "$version" ] || return 1
    (cd "$work" && private_apt apt-get source --download-only --tar-only --only-source \
        "redis=$version") >>"$work/log" 2>&1 || return 1
    # apt-helper unpacks .gz and .xz alike; an empty machine has no xz.
    /usr/lib/apt/apt-helper cat-file "$work"/redis_*.orig.tar.* |
        tar -xOf - --wildcards '*/src/redismodule.h' >"$work/redismodule.h" || return 1
    mkdir -p "$REDISMODULE_DIR"
    mv "$work/redismodule.h" "$REDISMODULE_DIR/"
    echo "$version" >"$REDISMODULE_DIR/redismodule.version"
    say "redismodule.h is from redis $version"
    rm -rf "$work"
}

case $1 in interop | clients)
    packages=$(missing_"$1")
    # shellcheck disable=SC2086 # one word for each package
    [ -z "$packages" ] || (install_packages $packages) ||
        for package in $packages; do # one by one: a missing package prevents no other
            (install_packages "$package") || :
        done
    exit 0 ;;
esac

packages=$(for word; do missing_"$(echo "$word" | tr - _)"; done | sort -u)
if [ -n "$packages" ]; then
    packages=$(echo "$packages" | paste -sd ' ' -) # one line
    have_command apt-get ||
        die "missing: $packages (Debian's names). Install them with this system's own package manager" \
            "and, if it has no redismodule.h, set REDISMODULE_DIR to a directory that has it."
    [ "$(id -u)" -eq 0 ] || have_command sudo || die "run as root: apt-get install $packages"
    # shellcheck disable=SC2086 # one word for each package
    install_packages $packages
fi

# Whether we were called with a word that is among these.
words=$*
is_wanted() { for word; do case " $words " in *" $word "*) return 0 ;; esac; done; false; }

if is_wanted build run bench test tidy fuzzer deb debs test-deb compilers && [ ! -f "$REDISMODULE_DIR/redismodule.h" ]; then
    hint="set REDISMODULE_DIR to a directory that has redismodule.h (src/ of a Redis 7 source tree)"
    [ "$REDISMODULE_DIR" = build/include ] || die "no redismodule.h in $REDISMODULE_DIR: $hint."
    have_command apt-get || die "redismodule.h is missing: $hint."
    fetch_header || die "no redismodule.h in this machine's apt sources (build/apt/log says why): $hint."
fi

fetch_monitoring() {
    say "unpacking prometheus and prometheus-redis-exporter into build/monitoring"
    mkdir -p build/monitoring
    download="apt-get -qq download prometheus prometheus-redis-exporter"
    (cd build/monitoring && $download 2>log) ||
        { as_root apt-get -qq update >/dev/null || :; (cd build/monitoring && $download 2>log); } || return 1
    for package in build/monitoring/*.deb; do
        dpkg-deb -x "$package" build/monitoring && rm "$package" || return 1
    done
}

if is_wanted monitoring && ! have_monitoring; then
    fetch_monitoring || die "no prometheus in this machine's apt sources (build/monitoring/log says why)."
fi

# What a foreign program needs to be built and run. debian.py removes its folder `apt` at the end, so
# where one is left the last attempt was interrupted.
fetch_foreign() {
    folder=build/debian/$1
    [ ! -d "$folder/root" ] || [ -d "$folder/apt" ] || return 0
    say "unpacking libraries and a server of $1 into $folder"
    rm -rf "$folder"
    mkdir -p "$folder"
    (. /etc/os-release && "$PYTHON" tests/support/debian.py unpack "$folder" "$VERSION_CODENAME" "$1" libc6-dev redis-server \
        libxxhash-dev libhiredis-dev libssl-dev zlib1g-dev libzstd-dev liblzma-dev libcmocka-dev >/dev/null)
}

for architecture in arm64 s390x; do
    ! is_wanted $architecture || fetch_foreign $architecture || die "no packages of $architecture (see $folder/fetch.log)."
done

# Libraries that Debian does not have, in an environment of their own. Only their tests need them:
# without a way to PyPI those skip and say so.
fetch_libraries() {
    say "getting $1 into build/venv"
    mkdir -p build
    { { build/venv/bin/python -m pip --version >/dev/null 2>&1 || "$PYTHON" -m venv --clear build/venv; } &&
        build/venv/bin/python -m pip install -q --disable-pip-version-check -r "$2"; } >&2 ||
        say "no $1: tests that use them will be skipped"
}

if is_wanted libraries && ! have_libraries; then fetch_libraries "libraries for columns" tests/libraries/requirements.txt; fi
if is_wanted lint && ! have_ruff; then fetch_libraries ruff tests/lint/requirements.txt; fi
if is_wanted sbom && ! have_sbom; then
    fetch_libraries "SPDX tools" module/extras/release/requirements.txt
    have_sbom || die "make dist needs spdx-tools of PyPI, for the SBOM."
fi
