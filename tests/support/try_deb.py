"""What `make test-deb` does: looks at the four packages of build/debs, and uses them on fresh Debians.

    try_deb.py directory [word ...]     a word chooses checks whose name has it: bookworm, valkey, twice

On Debian 12 with redis-server, and on Debian 13 with redis-server and with valkey-server, it goes through
the lines that README.md and module/docs/OPERATIONS.md give, word for word: install, load, use, remove.
Nothing may be left, and the server must still start. arm64 packages are not installed: they are
unpacked, and the tool runs under qemu-user. systemd does not run in a chroot; a server is also started
with the part of its unit's hardening that concerns a module, which files it may execute.
"""
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, os.path.join(TOP, "module/extras/debian"))
import in_root  # noqa: E402 (the path has to be set first)
from fresh import HARDENED, Checks, Fresh, output, until_answers  # noqa: E402

RELEASES = {"bookworm": "12", "trixie": "13"}
MACHINES = {"amd64": "X86-64", "arm64": "AArch64"}
SERVERS = [("bookworm", "redis"), ("trixie", "redis"), ("trixie", "valkey")]
LIBRARIES = ["libc6", "libhiredis", "libssl3", "zlib1g", "libzstd1", "liblzma5"]
MODULE = "usr/lib/redis/modules/bloomport.so"


def package_of(out, release, architecture):
    package, = glob.glob(f"{out}/bloomport_*~deb{RELEASES[release]}u1_{architecture}.deb")
    return package


# ---- The packages themselves -----------------------------------------------------------------


def field(package, name):
    return output(["dpkg-deb", "-f", package, name]).strip()


def check_contents(package, architecture, unpacked):
    """Both programs are of the architecture, the module needs the C library alone, and neither needs
    memory that is writable and executable, which the units of the servers forbid."""
    output(["dpkg-deb", "-x", package, unpacked])
    for path, needed in ((MODULE, r"lib[cm]\.so\.6|ld-linux.*"), ("usr/bin/bloomport", r"lib\S+|ld-linux.*")):
        said = output(["readelf", "-hdlW", f"{unpacked}/{path}"])
        assert re.search(r"Machine: .*" + MACHINES[architecture], said), said
        other = [name for name in re.findall(r"\(NEEDED\).*\[(.*)\]", said) if not re.fullmatch(needed, name)]
        assert not other, f"{path} needs {other}"
        assert re.search(r"GNU_STACK .* RW ", said) and "RWE" not in said and "TEXTREL" not in said, said
    assert os.path.realpath(f"{unpacked}/usr/lib/valkey/modules/bloomport.so") == os.path.realpath(f"{unpacked}/{MODULE}")


def check_dependencies(package, architecture):
    assert field(package, "Architecture") == architecture
    depends = field(package, "Depends").split(", ")
    missing = [name for name in LIBRARIES if not any(one.startswith(name) for one in depends)]
    assert not missing and len(depends) == len(LIBRARIES), f"Depends: {depends}"


def check_version(package):
    version, = re.findall(r"_(\d+\.\d+\.\d+)-1~", package)
    header = dict(re.findall(r"VERSION_(\w+) (\d+)", open(TOP + "/module/core/version.h", encoding="utf-8").read()))
    assert version == "{MAJOR}.{MINOR}.{PATCH}".format(**header), version


def check_runs_under_qemu(root, unpacked):
    """In the build root, which has the libraries of arm64."""
    shutil.copy(shutil.which("qemu-aarch64-static"), root + "/tmp/qemu")
    shutil.copy(unpacked + "/usr/bin/bloomport", root + "/tmp/bloomport")
    said = output(["chroot", root, "/tmp/qemu", "/tmp/bloomport", "--version"])
    assert re.match(r"bloomport \d+\.\d+\.\d+", said), said


def check_same_when_built_again(root, package, architecture):
    """Elsewhere, and with another umask, language, time zone and clock."""
    other = "umask 077; export LC_ALL=tr_TR.UTF-8 LANGUAGE=tr TZ=Pacific/Kiritimati; "
    output(["chroot", root, "localedef", "-i", "tr_TR", "-f", "UTF-8", "tr_TR.UTF-8"])
    again = in_root.build_package(root, TOP, architecture, "/home/other/folder", other, "faketime -f +400d")
    first, second = (hashlib.sha256(open(path, "rb").read()).hexdigest() for path in (package, again))
    assert first == second, f"{package} has {first}, the second one {second}"


def check_header(root):
    """`make deps` fetches the redismodule.h that has the BSD licence, on either Debian."""
    folder = root + "/src-deps"
    shutil.copytree(TOP, folder, ignore=lambda path, names: {"build", ".git"} & set(names))
    output(["chroot", root, "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "make", "-C", "/src-deps", "-s", "deps"])
    with open(folder + "/build/include/redismodule.version", encoding="utf-8") as file:
        version = file.read()
    assert re.match(r"5:7\.", version) and os.path.getsize(folder + "/build/include/redismodule.h"), version


def check_packages(checks, out, release, words):
    root = None
    for architecture in MACHINES:
        name, package = f"{release} {architecture}", package_of(out, release, architecture)
        unpacked = f"{out}/unpacked-{release}-{architecture}"
        claims = [("architecture, libraries, memory", check_contents, package, architecture, unpacked),
                  ("dependencies", check_dependencies, package, architecture), ("version", check_version, package),
                  ("lintian has no error and no warning", lambda p: in_root.check(root, p), package),
                  ("built twice is the same", lambda *w: check_same_when_built_again(root, *w), package, architecture)]
        if architecture == "amd64":
            claims.append(("make deps gets redismodule.h of Redis 7", lambda: check_header(root)))
        else:
            claims.append(("runs under qemu-user", lambda u: check_runs_under_qemu(root, u), unpacked))
        for claim, function, *given in claims:
            if all(word in f"{name}: {claim}" for word in words):
                root = root or in_root.build_root(f"{out}/root", release)
                checks(f"{name}: {claim}", function, *given)
        shutil.rmtree(unpacked, ignore_errors=True)
    if root:
        shutil.rmtree(root)


def check_upgrade_order(out):
    """Debian 12's package is older than Debian 13's, and both are newer than 0.1.0-1."""
    old, new = (field(package_of(out, release, "amd64"), "Version") for release in RELEASES)
    for lower, higher in ((old, new), (new, new.split("~")[0]), ("0.1.0-1~", old)):
        assert not subprocess.run(["dpkg", "--compare-versions", lower, "lt", higher], check=False).returncode, (lower, higher)


# ---- On a server -----------------------------------------------------------------------------


def lines_with(*texts):
    """The lines of the one code block of the two documents that has all these texts."""
    blocks = []
    for document in ("README.md", "module/docs/OPERATIONS.md"):
        with open(f"{TOP}/{document}", encoding="utf-8") as file:
            blocks += re.findall(r"^ *```\w*\n(.*?)^ *```", file.read(), re.M | re.S)
    found = [block for block in blocks if all(text in block for text in texts)]
    assert len(found) == 1, f"{len(found)} code blocks of the documents have {texts}"
    return [line.strip() for line in found[0].splitlines()]


class Server:
    """One server on a fresh Debian; the methods are the steps, in order."""

    def __init__(self, fresh, package, kind):
        self.fresh, self.package, self.kind = fresh, package, kind
        self.conf, self.cli = f"/etc/{kind}/{kind}.conf", f"{kind}-cli"
        self.before = None

    def files(self):
        return self.fresh.files(f"var/lib/{self.kind}")

    def servers(self):
        return {name for name in self.fresh.run("dpkg-query -W -f '${Package} '").split() if re.match("redis|valkey", name)}

    def used(self, lines, *commands):
        """What is printed where these lines start the server, the commands use it, and it is shut down."""
        return self.fresh.alone("\n".join([*lines, until_answers(self.cli), *commands, f"{self.cli} SHUTDOWN"]))

    def installs_as_the_readme_says_and_brings_no_server(self):
        self.before, servers = self.files(), self.servers()
        os.makedirs(self.fresh.root + "/root/build/deb")
        shutil.copy(self.package, self.fresh.root + "/root/build/deb/")
        line, = [line for line in lines_with("make deb", "apt install ./build/deb/") if "apt install" in line]
        self.fresh.run(line)
        assert self.servers() == servers, f"{self.servers()} and not {servers}"
        for name in ("share/man/man1/bloomport.1.gz", "share/bash-completion/completions/bloomport",
                     "share/doc/bloomport/examples/bloomport.conf", "lib/valkey/modules/bloomport.so"):
            assert os.path.getsize(f"{self.fresh.root}/usr/{name}")

    def loads_as_the_documents_say_and_works(self):
        load = [line for line in lines_with("loadmodule", f"tee -a {self.conf}")
                if "tee -a" in line or line.startswith("sudo service")]
        assert len(load) == 2 and "restart" in load[1], load
        cli = self.cli
        said = self.used(
            load, f"{cli} MODULE LIST", "echo in use", f"{cli} BF.ADD visitors alice", f"{cli} BF.EXISTS visitors alice",
            "seq 1 1000 | bloomport build -o f.bloom", "bloomport push f.bloom --key numbers",
            f"{cli} BF.EXISTS numbers 77", f"{cli} BF.EXISTS numbers 1077")
        assert "\nbf\n" in said and re.findall(r"^[01]$", said.split("in use")[-1], re.M) == ["1", "1", "1", "0"], said

    def loads_where_only_usr_lib_may_be_executed(self):
        said = self.fresh.alone(self.kind, HARDENED)
        assert re.search(r"^0$", said, re.M), said

    def warns_when_removed_while_a_configuration_loads_it(self):
        said = self.fresh.run("apt-get -q remove bloomport")
        assert f"{self.conf} still loads the module" in said and "delete the filters" in said, said
        self.fresh.run("apt-get -q install ./build/deb/bloomport_*.deb")

    def loses_its_filters_as_the_documents_say(self):
        lines = [line.replace("redis-cli", self.cli) for line in lines_with("UNLINK", "BGREWRITEAOF")]
        said = self.used([f"service {self.kind}-server start"], f"{self.cli} DBSIZE", *lines, f"{self.cli} DBSIZE")
        assert re.findall(r"^\d+$", said, re.M) == ["2", "0"], said

    def unloads_as_the_documents_say(self):
        lines = [line for line in lines_with("sed -i", self.conf) if "apt remove" not in line]
        said = self.used(lines, f"{self.cli} PING", f"{self.cli} BF.ADD visitors alice || :")
        assert "PONG" in said and "unknown command" in said.lower(), said

    def removing_leaves_nothing_and_the_server_starts(self):
        line, = [line for line in lines_with("apt remove bloomport", self.conf) if "apt remove" in line]
        said = self.fresh.run(line)
        assert "still loads" not in said, said
        self.fresh.run("apt-get -q autoremove --purge")
        said = self.used([f"service {self.kind}-server start"], f"{self.cli} PING")
        assert "PONG" in said, said
        changed = self.files() ^ self.before
        assert not changed, f"left, or removed too: {sorted(changed)}"

    def steps(self):
        return [self.installs_as_the_readme_says_and_brings_no_server, self.loads_as_the_documents_say_and_works,
                self.loads_where_only_usr_lib_may_be_executed, self.warns_when_removed_while_a_configuration_loads_it,
                self.loses_its_filters_as_the_documents_say, self.unloads_as_the_documents_say, self.removing_leaves_nothing_and_the_server_starts]


def main(out, *words):
    if os.getuid() != 0:
        sys.exit("make test-deb: needs root, for chroot")
    checks = Checks()
    for release in RELEASES:
        check_packages(checks, out, release, words)
    if not words:
        checks("an upgrade of Debian upgrades the package", check_upgrade_order, out)
    for release, kind in SERVERS:
        name = f"{release} {kind}-server"
        if all(word in name for word in words):
            with Fresh(f"{out}/fresh", release, ["sudo", kind + "-server"]) as fresh:
                checks.in_order(name, Server(fresh, package_of(out, release, "amd64"), kind).steps())
    return checks.end()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
