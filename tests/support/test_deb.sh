#!/bin/sh
# What `make test-deb` does: a fresh Debian of this machine's release in a directory, a redis-server
# installed there, then the lines that README.md and module/docs/OPERATIONS.md give, word for word: install, load,
# BF.ADD, remove. Nothing may be left, and the server must still start.
#
#   test_deb.sh directory    directory has the package; base.tar, the fresh Debian, is kept there
#
# The mirror is the one this machine's apt uses. Packages are fetched through the machine's network;
# servers run in a network, process and mount namespace of their own, so they see no other server,
# and end with the namespace.
set -eu

out=$(cd "$1" && pwd)
root=$out/fresh
package=$(echo "$out"/bloomport_*.deb)

say() { echo "test-deb: $*" >&2; }
die() { say "$*"; exit 1; }

[ "$(id -u)" -eq 0 ] || die "needs root, for chroot"

# The lines of the code block that contains a text, in either document.
lines_with() {
    awk -v text="$1" '/^```/ { if (inside && found) printf "%s", block; inside = !inside; block = ""; found = 0; next }
        inside { block = block $0 "\n"; if (index($0, text)) found = 1 }' README.md module/docs/OPERATIONS.md
}

# Runs a script of the fresh Debian's shell: in_network uses the machine's network, alone has one of
# its own and /proc.
in_network() { chroot "$root" sh -euc "cd /root && $1"; }
alone() {
    unshare --net --pid --fork --mount sh -euc "
        ip link set lo up
        mount -t proc proc '$root/proc'
        chroot '$root' sh -euc 'cd /root && $1'"
}

files() { (cd "$root" && find . -xdev \( -path ./var/lib/dpkg -o -path ./var/cache -o -path ./var/log \
    -o -path ./var/lib/apt -o -path ./var/lib/redis -o -path ./tmp -o -path ./run -o -path ./proc \
    -o -path ./root \) -prune -o -print | LC_ALL=C sort); }

fresh_debian() {
    if [ ! -e "$out/base.tar" ]; then
        . /etc/os-release
        mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
            "Codename: $VERSION_CODENAME" 'Component: main' | head -n 1)
        say "bootstrapping $PRETTY_NAME"
        rm -rf "$root"
        debootstrap --variant=minbase "$VERSION_CODENAME" "$root" "$mirror" >"$out/debootstrap.log"
        tar -C "$root" -cf "$out/base.part" . && mv "$out/base.part" "$out/base.tar"
    fi
    rm -rf "$root"
    mkdir "$root"
    tar -C "$root" -xf "$out/base.tar"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    # apt must not ask questions, and no server may start in the machine's own network.
    echo 'APT::Get::Assume-Yes "true";' >"$root/etc/apt/apt.conf.d/99test"
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod 755 "$root/usr/sbin/policy-rc.d"
    in_network "export DEBIAN_FRONTEND=noninteractive; apt-get -q update; apt-get -q install sudo redis-server"
}

lintian --fail-on error --allow-root "$package" || die "lintian has errors"
say "a fresh Debian with redis-server"
fresh_debian >"$out/fresh.log" 2>&1 || { tail -n 20 "$out/fresh.log" >&2; die "no fresh Debian"; }
files >"$out/before"

install=$(lines_with 'apt install ./build/deb/' | grep -v "^make deb\$")
remove=$(lines_with 'apt remove bloomport')
[ "$(echo "$install" | wc -l)" -eq 3 ] || die "README.md must give three lines after make deb: install, load, restart"
[ -n "$remove" ] || die "OPERATIONS.md must say how to remove"

mkdir -p "$root/root/build/deb"
cp "$package" "$root/root/build/deb/"
say "$(echo "$install" | head -n 1)"
in_network "$(echo "$install" | head -n 1)" >"$out/install.log" 2>&1 || { cat "$out/install.log" >&2; die "did not install"; }

restart=$(echo "$install" | tail -n 2)
say "$restart"
printf '%s\n' "$restart" 'redis-cli MODULE LIST' 'redis-cli BF.ADD visitors alice' 'redis-cli BF.EXISTS visitors alice' \
    'seq 1 1000 | bloomport build -o f.bloom' 'bloomport push f.bloom --key numbers' 'redis-cli BF.EXISTS numbers 77' \
    'redis-cli FLUSHALL' 'redis-cli SHUTDOWN' >"$root/root/use"
alone "sh -eu ./use" >"$out/use.log" 2>&1 || { cat "$out/use.log" >&2; die "it does not work"; }
[ "$(grep -cx 1 "$out/use.log")" -eq 3 ] || { cat "$out/use.log" >&2; die "BF.ADD or BF.EXISTS did not answer 1"; }
man=$root/usr/share/man/man1/bloomport.1.gz
[ -s "$man" ] || die "no man page"

say "remove the package while the lines are still there: it must warn"
in_network 'apt-get -q remove bloomport' 2>&1 | grep -q 'redis.conf still loads the module' || die "no warning"
in_network 'apt-get -q install ./build/deb/bloomport_*.deb' >"$out/again.log" 2>&1 || die "did not install again"

say "$remove"
echo "$remove" | grep -v 'apt remove' >"$root/root/unload"
printf '%s\n' 'redis-cli BF.ADD visitors alice' 'redis-cli SHUTDOWN' >>"$root/root/unload"
alone "sh -u ./unload" >"$out/after.log" 2>&1
grep -qi "unknown command 'BF.ADD'" "$out/after.log" || { cat "$out/after.log" >&2; die "the module is still loaded"; }
in_network "$(echo "$remove" | grep 'apt remove')" >"$out/remove.log" 2>&1 || die "did not remove"
in_network 'apt-get -q autoremove --purge' >>"$out/remove.log" 2>&1 || die "did not autoremove"
echo 'service redis-server start; redis-cli PING; redis-cli SHUTDOWN' >"$root/root/start"
alone "sh -u ./start" >"$out/after.log" 2>&1
grep -q PONG "$out/after.log" || { cat "$out/after.log" >&2; die "the server does not start without it"; }
files >"$out/after"
diff "$out/before" "$out/after" >&2 || die "removing left files, or removed too many"
rm -rf "$root"
say "installs, works and removes cleanly"
echo "1 passed, 0 failed"
