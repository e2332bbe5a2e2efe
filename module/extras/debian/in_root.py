"""deb.sh in a fresh Debian: the package for a release and an architecture that are not the machine's.

    in_root.py directory release,... architecture,...      '' is the machine's own

The packages go to directory/, deb.sh's other files to directory/<release>-<architecture>/: its log, its
list of libraries, and the tool for the tarballs of `make dist`.

The Debian is made by tests/support/debian.py, once for both architectures, and is kept in build/roots;
arm64 is built by Debian's cross compiler. Root is needed, for chroot.
"""
import glob
import os
import shutil
import subprocess
import sys

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
sys.path.insert(0, os.path.join(TOP, "tests/support"))
from debian import Problem, make_root, output, own_release  # noqa: E402 (the path has to be set first)

LIBRARIES = ["libxxhash-dev", "libhiredis-dev", "libssl-dev", "zlib1g-dev", "libzstd-dev", "liblzma-dev", "libc6-dev"]
# locales and faketime are for the test that builds twice.
TOOLS = ["make", "gcc", "gcc-aarch64-linux-gnu", "dpkg-dev", "lintian", "locales", "faketime"]
PACKAGES = [*TOOLS, *(library + suffix for library in LIBRARIES for suffix in ("", ":arm64"))]


def own_architecture():
    return output(["dpkg", "--print-architecture"]).strip()


def build_root(folder, release):
    return make_root(folder, release, PACKAGES, keep=True)


def copy_source(source, target):
    """What is not built, and the header that is fetched."""
    shutil.copytree(source, target, ignore=lambda folder, names: {"build", ".git"} & set(names) if folder == source else ())
    header = os.environ.get("REDISMODULE_DIR", "build/include")
    os.makedirs(os.path.join(target, "build/include"))
    shutil.copy(os.path.join(TOP, header, "redismodule.h"), os.path.join(target, "build/include"))


def build_package(root, source, architecture, folder="/src", before="", program=""):
    """The path of the package, built in this folder of the root. `before` is shell that runs first,
    `program` one that starts the build."""
    inside = os.path.join(root, folder.lstrip("/"))
    shutil.rmtree(inside, ignore_errors=True)
    copy_source(source, inside)
    build = f"MAKE='make -j{os.cpu_count()}' {program} sh module/extras/debian/deb.sh build/deb {architecture}"
    output(["chroot", root, "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "sh", "-euc", f"cd '{folder}'; {before}{build}"])
    package, = glob.glob(glob.escape(inside) + "/build/deb/*.deb")
    return package


def check(root, package):
    """What lintian says; an error or a warning is a Problem."""
    shutil.copy(package, root + "/tmp")
    return output(["chroot", root, "lintian", "--allow-root", "--fail-on", "error,warning", "/tmp/" + os.path.basename(package)])


def keep(package, out, name):
    """The package and deb.sh's other files, out of the root."""
    details = os.path.join(out, name)
    os.makedirs(details, exist_ok=True)
    for file in ("build.log", "libraries", "portable"):
        shutil.copy(os.path.join(os.path.dirname(package), file), details)
    return shutil.copy(package, out)


def build_all(out, releases, architectures, source=TOP):
    """Every package, from these sources, into the folder."""
    if os.getuid() != 0:
        raise Problem("needs root, for chroot")
    if own_architecture() != "amd64":
        raise Problem("needs an amd64 machine: its roots have the cross compiler for arm64 and no other")
    for release in releases:
        root = build_root(os.path.join(out, "root"), release)
        for architecture in architectures:
            package = build_package(root, source, architecture)
            print(keep(package, out, f"{release}-{architecture}"), flush=True)
        shutil.rmtree(root)


def main(out, releases, architectures):
    mine = own_release(), own_architecture()
    wanted = releases or mine[0], architectures or mine[1]
    if wanted == mine:
        return subprocess.run(["sh", "module/extras/debian/deb.sh", out], check=False).returncode
    shutil.rmtree(out, ignore_errors=True)
    build_all(out, *(words.split(",") for words in wanted))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except Problem as problem:
        sys.exit(f"make deb: {problem}")
