"""What `make test-dist` does: looks at the files that `make dist` made, and makes them once more.

    try_dist.py directory
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, os.path.join(TOP, "module/extras/debian"))
import in_root  # noqa: E402 (the path has to be set first)
from fresh import Checks, Problem, output  # noqa: E402

MACHINES = {"amd64": "X86-64", "arm64": "AArch64"}
IN_TARBALL = ["bloomport", "bloomport.so", "bloomport.1", "bloomport.conf", "LICENSE", "COPYRIGHT", "README.md", "rdb/FORMAT.md",
              "module/docs/OPERATIONS.md", "completions/bloomport.bash", "completions/bloomport.fish", "completions/_bloomport"]
PARTS = {("xxHash", "CONTAINS"), ("redismodule.h of Redis", "CONTAINS"), ("hiredis", "DYNAMIC_LINK"), ("hiredis", "STATIC_LINK"),
         ("OpenSSL (libssl, libcrypto)", "DYNAMIC_LINK"), ("zlib", "DYNAMIC_LINK"), ("Zstandard", "DYNAMIC_LINK"),
         ("liblzma of XZ Utils", "DYNAMIC_LINK")}
# What the programs of the tarballs may need, as module/docs/OPERATIONS.md says.
NEEDED = {"bloomport.so": r"lib[cm]\.so\.6|ld-linux.*",
          "bloomport": r"lib[cm]\.so\.6|ld-linux.*|lib(ssl|crypto)\.so\.3|libz\.so\.1|libzstd\.so\.1|liblzma\.so\.5"}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def the_one(out, pattern):
    found = glob.glob(f"{out}/{pattern}")
    assert len(found) == 1, f"{pattern}: {found}"
    return found[0]


def check_checksums(out):
    output(["sha256sum", "--strict", "-c", "SHA256SUMS"], cwd=out)
    named = {line.split()[1] for line in read(out + "/SHA256SUMS").splitlines()}
    assert named == set(os.listdir(out)) - {"SHA256SUMS"} and len(named) == 8, named


def check_sources(out):
    """The tarball has what git has, and nothing else."""
    path, = set(glob.glob(f"{out}/bloomport-*.tar.gz")) - set(glob.glob(f"{out}/*-linux-*"))
    names = output(["tar", "-tzf", path]).splitlines()
    inside = {name.split("/", 1)[1] for name in names if not name.endswith("/")}
    tracked = set(output(["git", "ls-tree", "-r", "-z", "--name-only", "HEAD"], cwd=TOP).split("\0")) - {""}
    assert inside == tracked, inside ^ tracked


def unpack(out, architecture, folder):
    """The folder that the tarball of this architecture has."""
    path = the_one(out, f"bloomport-*-linux-{architecture}.tar.gz")
    output(["tar", "-C", folder, "-xzf", path])
    return os.path.join(folder, os.path.basename(path)[:-len(".tar.gz")])


def check_programs(out, architecture):
    """All is there, of the architecture, for glibc 2.36, and needs no other libraries than the documents say."""
    with tempfile.TemporaryDirectory() as folder:
        top = unpack(out, architecture, folder)
        missing = [name for name in IN_TARBALL if not os.path.getsize(f"{top}/{name}")]
        assert not missing, missing
        for name, needed in NEEDED.items():
            said = output(["readelf", "-hdVW", f"{top}/{name}"])
            assert re.search("Machine: .*" + MACHINES[architecture], said), said
            newest = max(tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([\d.]+)", said))
            assert newest <= (2, 36), newest
            other = [one for one in re.findall(r"\(NEEDED\).*\[(.*)\]", said) if not re.fullmatch(needed, one)]
            assert not other, f"{name} needs {other}"


def check_links(out):
    """The files that README.md and OPERATIONS.md link to are in the tarball too."""
    with tempfile.TemporaryDirectory() as folder:
        top = unpack(out, "amd64", folder)
        for document in ("README.md", "module/docs/OPERATIONS.md"):
            links = re.findall(r"\]\((?!https?:)([^)#]+)", read(f"{top}/{document}"))
            broken = [link for link in links if not os.path.exists(os.path.join(top, os.path.dirname(document), link))]
            assert links and not broken, f"{document}: {broken}"


def check_tool(out, root, architecture):
    """It builds a filter, in a root of the Debian that has these libraries and no libhiredis of Debian 12."""
    with tempfile.TemporaryDirectory(dir=root + "/tmp") as folder:
        top = unpack(out, architecture, folder)[len(root):]
        qemu = ""
        if architecture == "arm64":
            qemu = f"/tmp/{os.path.basename(shutil.copy(shutil.which('qemu-aarch64-static'), root + '/tmp'))}"
        tool = f"{qemu} {top}/bloomport"
        script = f"seq 1 1000 | {tool} build -q -o {top}/filter && printf '77\\n1077\\n' | {tool} check {top}/filter"
        said = output(["chroot", root, "sh", "-euc", script])
        assert said == "77\n", said


def check_sbom(out):
    path = the_one(out, "*.spdx.json")
    output([TOP + "/build/venv/bin/python", "-m", "spdx_tools.spdx.clitools.pyspdxtools", "-i", path])
    document = json.loads(read(path))
    packages = {one["SPDXID"]: one for one in document["packages"]}
    own = packages["SPDXRef-bloomport"]
    version = re.search(r"bloomport-(.*)\.spdx", path)[1]
    assert (own["name"], own["versionInfo"], own["licenseDeclared"]) == ("bloomport", version, "BSD-3-Clause"), own
    found = {(packages[one["relatedSpdxElement"]]["name"], one["relationshipType"]) for one in document["relationships"]
             if one["spdxElementId"] == "SPDXRef-bloomport"}
    assert PARTS <= found, found
    lacking = [one["name"] for one in packages.values() if not one.get("versionInfo") or one["licenseDeclared"] == "NOASSERTION"]
    assert not lacking, f"no version or licence: {lacking}"


def check_made_again(out):
    """In another folder, with another umask, language and time zone."""
    again = os.path.abspath(out) + "-again"
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "TZ": "Pacific/Kiritimati"}
    script = f"umask 077 && exec '{sys.executable}' -B module/extras/release/dist.py '{again}'"
    done = subprocess.run(["sh", "-c", script], cwd=TOP, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise Problem(done.stdout)
    first, second = read(out + "/SHA256SUMS"), read(again + "/SHA256SUMS")
    assert first == second, f"\n{first}\n{second}"
    output(["rm", "-r", again])


def main(out):
    checks = Checks()
    checks("SHA256SUMS has every file", check_checksums, out)
    checks("the source tarball has what git has", check_sources, out)
    for architecture in MACHINES:
        checks(f"the programs for {architecture}", check_programs, out, architecture)
    checks("the documents' links work in the tarballs", check_links, out)
    root = in_root.build_root(os.path.abspath(out) + "-root", "trixie")
    for architecture in MACHINES:
        checks(f"the tool for {architecture} runs on Debian 13", check_tool, out, root, architecture)
    shutil.rmtree(root)
    checks("the SBOM is valid and names every part", check_sbom, out)
    checks("made twice is the same", check_made_again, out)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
