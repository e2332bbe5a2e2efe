#!/bin/sh
# What `make deb` does: builds with the flags that Debian builds its packages with, and packs what
# `make install` installs into directory/bloomport_<version>_<arch>.deb. The version and its date are
# the newest released ones of module/docs/CHANGELOG.md, which a test keeps equal to the module's own.
# DEBFULLNAME and DEBEMAIL name the maintainer, as for Debian's own tools.
#
#   deb.sh directory    called at the top of the repository
set -eu

package=module/extras/debian
out=$1
root=$out/debian/bloomport
doc=$root/usr/share/doc/bloomport
heading=$(sed -n 's/^## \[\([0-9.]*\)\] - \([0-9-]*\)$/\1 \2/p' module/docs/CHANGELOG.md | head -n 1)
version=${heading% *}-1
released=${heading#* }
maintainer="${DEBFULLNAME:-bloomport contributors} <${DEBEMAIL:-bloomport@example.org}>"
SOURCE_DATE_EPOCH=$(date -u -d "$released" +%s)
export SOURCE_DATE_EPOCH
umask 022

build() {
    flags="$(dpkg-buildflags --get CFLAGS) $(dpkg-buildflags --get CPPFLAGS)"
    "$MAKE" --no-print-directory V=1 FLAVOUR=deb SO="$out/bloomport.so" TOOL="$out/bloomport" \
        CFLAGS="$flags" LDFLAGS="$(dpkg-buildflags --get LDFLAGS)" \
        PREFIX=/usr ZSH_DIR=/usr/share/zsh/vendor-completions DESTDIR="$root" install
    strip --strip-unneeded --remove-section=.comment --remove-section=.note \
        "$root/usr/bin/bloomport" "$root/usr/lib/redis/modules/bloomport.so"
}

# dpkg's programs read debian/control and debian/changelog of the directory they are called in, and
# take debian/<package> with a DEBIAN in it for the package.
describe() {
    sed "s/@MAINTAINER@/$maintainer/" $package/control >"$out/debian/control"
    printf '%s\n' "bloomport ($version) unstable; urgency=medium" "" \
        "  * changelog.gz lists the changes." "" \
        " -- $maintainer  $(date -uR -d "$released")" >"$out/debian/changelog"
    (cd "$out" && dpkg-shlibdeps debian/bloomport/usr/bin/* debian/bloomport/usr/lib/redis/modules/*)
}

# gzip -n: no name and no time, so that the same sources give the same package.
add_documents() {
    sed -e '/@LICENSE@/{r LICENSE' -e 'd}' $package/copyright >"$doc/copyright"
    gzip -9nc module/docs/CHANGELOG.md >"$doc/changelog.gz"
    gzip -9nc "$out/debian/changelog" >"$doc/changelog.Debian.gz"
    gzip -9n "$root/usr/share/man/man1/bloomport.1"
}

pack() {
    install -m 755 $package/prerm "$root/DEBIAN/prerm"
    (cd "$root" && find usr -type f -exec md5sum {} + | LC_ALL=C sort -k 2 >DEBIAN/md5sums)
    (cd "$out" && dpkg-gencontrol -pbloomport -Pdebian/bloomport)
    dpkg-deb --root-owner-group --build "$root" "$out"
}

rm -rf "$out/debian" "$out"/*.deb
mkdir -p "$root/DEBIAN"
build >"$out/build.log" 2>&1 || { tail -n 20 "$out/build.log" >&2; exit 1; }
describe
add_documents
pack
