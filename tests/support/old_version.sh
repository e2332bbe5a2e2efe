#!/bin/sh
# Builds the module of an older version from this repository's history, for the tests of upgrading.
#
#   CC=cc old_version.sh 0.1.0 directory redismodule-directory     called at the top of the repository
#
# A source tarball and a shallow clone have no history, and git reads none in a directory of another
# user: then nothing is built, what git said is printed, and the tests that need it are skipped.
set -eu

version=$1
out=$2/$version
header=$(cd "$3" && pwd)
case $version in # as they were released
0.1.0) commit=5012fe085f89162abdc224838de7d82a976ae060 ;;
0.2.0) commit=d3b584777d49ccec12cbaa9d58c28ba26c27097e ;;
*) echo "no commit of version $version is named here" >&2; exit 1 ;;
esac
[ ! -e "$out/bloomport.so" ] || exit 0
said=$(git cat-file -e "$commit" 2>&1) || {
    echo "no history with version $version here: upgrading is not tested${said:+ ($(echo "$said" | head -n 1))}" >&2
    exit 0
}

rm -rf "$out/source"
mkdir -p "$out/source"
git archive "$commit" | tar -xf - -C "$out/source"
env -u MAKEFLAGS -u MFLAGS "${MAKE:-make}" -s -C "$out/source" -j2 FLAVOUR=release CC="${CC:-cc}" REDISMODULE_DIR="$header" build/bloomport.so \
    >"$out/log" 2>&1 || { cat "$out/log" >&2; exit 1; }
mv "$out/source/build/bloomport.so" "$out/bloomport.so"
rm -rf "$out/source"
