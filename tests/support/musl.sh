#!/bin/sh
# Builds what the tests of `make test-musl` link and start, with musl-gcc, from Debian's source
# packages: libraries for the tool and the unit tests, and redis-server. Debian's own are glibc's.
#
#   musl.sh folder     -> folder/root/include, folder/root/lib, folder/root/bin/redis-server
#
# What is there is not built again; `rm -r folder/root` builds anew. Each build has its log in
# folder/src. A library has only what the tool uses: no encoders, no old ciphers, nothing shared.
#
# Environment: PYTHON.
set -eu

mkdir -p "$1/src" "$1/root/include" "$1/root/lib" "$1/root/bin"
root=$(realpath "$1/root") src=$(realpath "$1/src")
debian=$(realpath "$(dirname "$0")/debian.py")
jobs=$(nproc)

# Debian's musl-gcc looks into musl's folders alone: what is no part of a C library has to be copied.
# The kernel's headers are the same for every C library.
copy_headers() {
    multiarch=$(musl-gcc -print-multiarch)
    ln -sfn /usr/include/linux "$root/include/linux"
    ln -sfn /usr/include/asm-generic "$root/include/asm-generic"
    ln -sfn "/usr/include/$multiarch/asm" "$root/include/asm"
    cp /usr/include/xxhash.h "$root/include/"
}

export CC=musl-gcc CFLAGS="-O2 -fPIC -isystem $root/include" LDFLAGS="-L$root/lib"

build_zlib() {
    ./configure --static
    make -j"$jobs" libz.a
    cp libz.a "$root/lib/"
    cp zlib.h zconf.h "$root/include/"
}

build_libzstd() {
    make -C lib -j"$jobs" libzstd.a ZSTD_LIB_COMPRESSION=0 ZSTD_LIB_DICTBUILDER=0 ZSTD_LIB_DEPRECATED=0
    cp lib/libzstd.a "$root/lib/"
    cp lib/zstd.h lib/zstd_errors.h "$root/include/"
}

build_xz_utils() {
    ./configure --host="$(musl-gcc -dumpmachine)" --disable-shared --disable-encoders --disable-nls \
        --disable-doc --disable-scripts --disable-xz --disable-xzdec --disable-lzmadec --disable-lzmainfo
    make -C src/liblzma -j"$jobs" liblzma.la
    cp src/liblzma/.libs/liblzma.a "$root/lib/"
    cp -R src/liblzma/api/lzma.h src/liblzma/api/lzma "$root/include/"
}

build_hiredis() {
    make -j"$jobs" libhiredis.a
    cp libhiredis.a "$root/lib/"
    mkdir -p "$root/include/hiredis"
    cp ./*.h "$root/include/hiredis/"
}

# Its own way is CMake's, for one file.
# shellcheck disable=SC2086 # CFLAGS are several words
build_cmocka() {
    $CC $CFLAGS -std=gnu99 -Iinclude -DHAVE_STDINT_H -DHAVE_INTTYPES_H -DHAVE_STRUCT_TIMESPEC \
        -DHAVE_CLOCK_GETTIME_REALTIME -DHAVE_SIGNAL_H -DHAVE_STRSIGNAL -DHAVE_UNISTD_H -DHAVE_SETJMP_H \
        -DHAVE_GCC_THREAD_LOCAL_STORAGE -c src/cmocka.c -o cmocka.o
    ar rcs "$root/lib/libcmocka.a" cmocka.o
    cp include/cmocka*.h "$root/include/"
}

# TLS 1.2 and 1.3, as the tool and the server speak it. The rest of OpenSSL takes minutes to compile.
build_openssl() {
    ./Configure "linux-$(uname -m)" --openssldir=/etc/ssl no-shared no-tests no-asm no-module no-engine \
        no-dtls no-ssl3 no-comp no-srp no-srtp no-ct no-cms no-ts no-ocsp no-cmp no-gost no-ec2m no-dsa \
        no-aria no-bf no-camellia no-cast no-idea no-md4 no-mdc2 no-rc2 no-rc4 no-seed no-siphash \
        no-sm2 no-sm3 no-sm4 no-whirlpool no-rmd160 "CFLAGS=-O1 -fPIC -isystem $root/include"
    make -j"$jobs" build_generated
    make -j"$jobs" libcrypto.a libssl.a
    cp libcrypto.a libssl.a "$root/lib/"
    cp -R include/openssl "$root/include/"
}

build_redis() {
    make -C src -j"$jobs" redis-server MALLOC=libc BUILD_TLS=yes USE_SYSTEMD=no OPTIMIZATION=-O2
    cp src/redis-server "$root/bin/"
}

packages="zlib libzstd xz-utils hiredis cmocka openssl redis"

# shellcheck disable=SC2086 # several packages
fetch() {
    missing=$(for package in $packages; do
        [ -e "$root/$package.done" ] || [ -d "$src/$package" ] || echo "$package"; done)
    [ -z "$missing" ] || "$PYTHON" "$debian" source "$src" bookworm $missing
}

# No `build_x || ...` here: before `||` the shell goes on after a command that failed.
build() {
    [ ! -e "$root/$1.done" ] || return 0
    log=$src/$1.log
    echo "musl: building $1" >&2
    (cd "$src/$1" && "build_$(echo "$1" | tr - _)") >"$log" 2>&1 </dev/null
    log=
    touch "$root/$1.done"
}

log=
trap '[ -z "$log" ] || { tail -n 30 "$log"; echo "musl: it does not build, see $log"; } >&2' EXIT
copy_headers
fetch
for package in $packages; do build "$package"; done
