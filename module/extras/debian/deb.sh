#!/bin/sh
# What `make deb` does: builds with the flags that Debian builds its packages with, and packs what
# `make install` installs into directory/bloomport_<version>-1~deb<release>u1_<arch>.deb. The version is
# that of module/core/version.h, its date stands in module/docs/CHANGELOG.md. DEBFULLNAME and DEBEMAIL
# name the maintainer, as for Debian's own tools.
#
#   deb.sh directory [architecture]    called at the top of the repository
#
# The release is the one of the system that it runs on; in_root.py runs it on others. For another
# architecture the system needs Debian's cross compiler and the libraries of that architecture.
#
# Two more files are for `make dist`. directory/portable is the tool with libhiredis in it, since most
# systems have another version of that library. directory/libraries lists the library packages that were
# used, for the SBOM.
set -eu
export LC_ALL=C # in Turkish [A-Z] has no I; and the order of files is the language's

package=module/extras/debian
out=$1
root=$out/debian/bloomport
doc=$root/usr/share/doc/bloomport
changes=module/docs/CHANGELOG.md
maintainer="${DEBFULLNAME:-bloomport contributors} <${DEBEMAIL:-bloomport@example.org}>"
eval "$(dpkg-architecture ${2:+-a"$2"} -s 2>/dev/null)" # DEB_HOST_ARCH and others, exported

version=$($MAKE -s --no-print-directory version)
released=$(sed -n "s/^## \[$version\] - \([0-9-]*\)$/\1/p" $changes)
[ -n "$released" ] || { echo "deb: $changes has no heading '## [$version] - date'" >&2; exit 1; }
SOURCE_DATE_EPOCH=$(date -u -d "$released" +%s)
DEB_BUILD_MAINT_OPTIONS=hardening=+bindnow
export SOURCE_DATE_EPOCH DEB_BUILD_MAINT_OPTIONS
umask 022

# 0.2.0-1~deb12u1 < 0.2.0-1~deb13u1: an upgrade of Debian upgrades the package too.
# shellcheck disable=SC1091 # the system's own file
. /etc/os-release
case $ID in
    debian) suffix=${VERSION_ID:+~deb${VERSION_ID}u1} ;;
    *) suffix=~$ID${VERSION_ID:-} ;;
esac

make_with_debian_flags() {
    flags="$(dpkg-buildflags --get CFLAGS) $(dpkg-buildflags --get CPPFLAGS)"
    $MAKE --no-print-directory V=1 FLAVOUR=deb SO="$out/bloomport.so" \
        CC="$DEB_HOST_GNU_TYPE-gcc" CFLAGS="$flags" LDFLAGS="$(dpkg-buildflags --get LDFLAGS)" "$@"
}

build() {
    make_with_debian_flags TOOL="$out/bloomport" PREFIX=/usr DESTDIR="$root" \
        ZSH_DIR=/usr/share/zsh/vendor-completions install
    make_with_debian_flags TOOL="$out/portable" HIREDIS=-l:libhiredis.a "$out/portable"
    "$DEB_HOST_GNU_TYPE-strip" --strip-unneeded --remove-section=.comment --remove-section=.note \
        "$root/usr/bin/bloomport" "$root/usr/lib/redis/modules/bloomport.so" "$out/portable"
    mkdir -p "$root/usr/lib/valkey/modules"
    ln -s ../../redis/modules/bloomport.so "$root/usr/lib/valkey/modules/bloomport.so"
}

# dpkg's programs read debian/control and debian/changelog of the directory they are called in, and
# take debian/<package> with a DEBIAN in it for the package.
describe() {
    sed "s/@MAINTAINER@/$maintainer/" $package/control >"$out/debian/control"
    sed -n 's/^## \[\([0-9.]*\)\] - \([0-9-]*\)$/\1 \2/p' $changes | while read -r number date; do
        printf '%s\n' "bloomport ($number-1$suffix) ${VERSION_CODENAME:-unstable}; urgency=medium" "" \
            "  * changelog.gz lists the changes." "" \
            " -- $maintainer  $(date -uR -d "$date")" ""
    done >"$out/debian/changelog"
    (cd "$out" && dpkg-shlibdeps debian/bloomport/usr/bin/* debian/bloomport/usr/lib/redis/modules/*)
}

# gzip -n: no name and no time, so that the same sources give the same package.
add_documents() {
    sed -e '/@LICENSE@/{r LICENSE' -e 'd}' $package/copyright >"$doc/copyright"
    gzip -9nc $changes >"$doc/changelog.gz"
    gzip -9nc "$out/debian/changelog" >"$doc/changelog.Debian.gz"
    gzip -9n "$root/usr/share/man/man1/bloomport.1"
}

pack() {
    install -m 755 $package/prerm "$root/DEBIAN/prerm"
    (cd "$root" && find usr -type f -exec md5sum {} + | sort -k 2 >DEBIAN/md5sums)
    (cd "$out" && dpkg-gencontrol -pbloomport -Pdebian/bloomport)
    find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group --build "$root" "$out"
}

# Lines "soname package version", and one for each part that is compiled or linked in.
list_libraries() {
    readelf -d "$root/usr/bin/bloomport" "$root/usr/lib/redis/modules/bloomport.so" |
        sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u | while read -r soname; do
            owner=$(dpkg -S "*/$DEB_HOST_MULTIARCH/$soname" | head -n 1 | sed 's/: .*//')
            echo "$soname $(dpkg-query -W -f '${Package} ${Version}' "$owner")"
        done
    for part in xxhash.h:libxxhash-dev libhiredis.a:libhiredis-dev; do
        echo "${part%:*} $(dpkg-query -W -f '${Package} ${Version}' "${part#*:}:$DEB_HOST_ARCH")"
    done
}

rm -rf "$out" # from scratch: no object built with other flags
mkdir -p "$root/DEBIAN"
build >"$out/build.log" 2>&1 || { tail -n 20 "$out/build.log" >&2; exit 1; }
describe
add_documents
pack
list_libraries >"$out/libraries" 2>/dev/null || rm -f "$out/libraries"
