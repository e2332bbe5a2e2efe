"""What `make dist` does: the files of a release, all made of the last commit, and their checksums.

    dist.py directory

    bloomport-<version>.tar.gz                  the sources
    bloomport-<version>-linux-<arch>.tar.gz     module, tool, man page, completions, documents
    bloomport_<version>-1.deb<n>u1_<arch>.deb   the four packages
    bloomport-<version>.spdx.json               the SBOM: sbom.py
    SHA256SUMS

The programs of the tarballs are built on Debian 12, so they run with glibc 2.36 and later. The module needs
nothing else; the tool needs OpenSSL 3, zlib, libzstd and liblzma, and has libhiredis in it. The same commit and the same packages of Debian give the same bytes: no time but the release's date, which
module/docs/CHANGELOG.md has, gets into a file. Root is needed, for chroot.
"""
import datetime
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys

import sbom

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
sys.path.insert(0, os.path.join(TOP, "module/extras/debian"))
import in_root  # noqa: E402 (the path has to be set first)

RELEASES = ["bookworm", "trixie"]
ARCHITECTURES = ["amd64", "arm64"]
# From the package's /usr into the tarball; a folder takes all that is below.
FROM_PACKAGE = {
    "lib/redis/modules/bloomport.so": "bloomport.so",
    "share/bash-completion/completions/bloomport": "completions/bloomport.bash",
    "share/zsh/vendor-completions/_bloomport": "completions/_bloomport",
    "share/fish/vendor_completions.d/bloomport.fish": "completions/bloomport.fish",
    "share/doc/bloomport/examples/bloomport.conf": "bloomport.conf", "share/doc/bloomport/copyright": "COPYRIGHT"}
# From the sources, under the same names: the documents, and what they link to and tell a user to use.
FROM_SOURCE = ["LICENSE", "README.md", "module/docs", "module/extras/monitoring", "module/extras/container", "rdb/FORMAT.md",
               "tests/README.md", "tests/RESULTS.md", "tests/recipes", "tests/bench/speed.svg", ".github/CONTRIBUTING.md", ".github/SECURITY.md"]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def version_and_date(source):
    """("0.2.0", the time of its heading in the change log)."""
    version = in_root.output(["make", "-s", "--no-print-directory", "-C", source, "version"]).strip()
    date = re.search(rf"^## \[{re.escape(version)}\] - (\S+)$", read(source + "/module/docs/CHANGELOG.md"), re.M)
    if not date:
        raise in_root.Problem(f"module/docs/CHANGELOG.md has no heading '## [{version}] - date'")
    return version, datetime.datetime.fromisoformat(date[1] + "T00:00:00+00:00")


def gzip(tar, path):
    """A tar file that a command writes, compressed, with no name and no time."""
    with subprocess.Popen(tar, stdout=subprocess.PIPE) as writer, open(path, "wb") as file:
        packed = subprocess.run(["gzip", "-9n"], stdin=writer.stdout, stdout=file, check=False)
    if writer.returncode or packed.returncode:
        raise in_root.Problem(" ".join(tar) + " failed")


def archive_sources(out, work):
    """The tarball of the last commit; returns the folder it is unpacked in."""
    if not os.path.exists(TOP + "/.git"):
        raise in_root.Problem("the sources come from git: needs a git checkout")
    source = work + "/source"
    os.makedirs(source)
    in_root.output(["sh", "-c", f"git -C '{TOP}' archive HEAD | tar -C '{source}' -x"])
    version, _ = version_and_date(source)
    gzip(["git", "-C", TOP, "-c", "tar.umask=022", "archive", f"--prefix=bloomport-{version}/", "HEAD"],
         f"{out}/bloomport-{version}.tar.gz")
    return source


def copy(path, target):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    (shutil.copytree if os.path.isdir(path) else shutil.copy)(path, target)


def archive_programs(out, work, source, architecture):
    """The tarball of one architecture: what Debian 12's package has, with the tool that deb.sh made for it."""
    version, date = version_and_date(source)
    name, unpacked = f"bloomport-{version}-linux-{architecture}", f"{work}/{architecture}"
    package, = glob.glob(f"{work}/debs/*~deb12u1_{architecture}.deb")
    in_root.output(["dpkg-deb", "-x", package, unpacked])
    for path, target in FROM_PACKAGE.items():
        copy(f"{unpacked}/usr/{path}", f"{work}/{name}/{target}")
    for path in FROM_SOURCE:
        copy(f"{source}/{path}", f"{work}/{name}/{path}")
    copy(f"{work}/debs/bookworm-{architecture}/portable", f"{work}/{name}/bloomport")
    copy(f"{source}/rdb/tool/bloomport.1", f"{work}/{name}/bloomport.1")
    gzip(["tar", "-C", work, "-c", "--format=ustar", "--sort=name", f"--mtime=@{int(date.timestamp())}", "--owner=0",
          "--group=0", "--numeric-owner", "--mode=u+rw,go=u-w,a-s", name], f"{out}/{name}.tar.gz")


def write_checksums(out):
    names = sorted(os.listdir(out))
    lines = [f"{hashlib.sha256(open(f'{out}/{name}', 'rb').read()).hexdigest()}  {name}\n" for name in names]
    with open(out + "/SHA256SUMS", "w", encoding="utf-8") as file:
        file.writelines(lines)
    return "".join(lines)


def main(out):
    work = os.path.abspath(out) + ".work"
    for folder in (out, work):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
    os.umask(0o022)
    source = archive_sources(out, work)
    in_root.build_all(work + "/debs", RELEASES, ARCHITECTURES, source)
    for architecture in ARCHITECTURES:
        archive_programs(out, work, source, architecture)
    # GitHub turns ~ into . in the names of a release's files, and SHA256SUMS has to name what is downloaded.
    for package in glob.glob(work + "/debs/*.deb"):
        shutil.copy(package, f"{out}/{os.path.basename(package).replace('~', '.')}")
    version, date = version_and_date(source)
    sbom.write(f"{out}/bloomport-{version}.spdx.json", version, date, work)
    sys.stdout.write(write_checksums(out))
    shutil.rmtree(work)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except in_root.Problem as problem:
        sys.exit(f"make dist: {problem}")
