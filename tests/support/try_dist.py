"""What `make test-dist` does: looks at the files that `make dist` made, and makes them once more.

    try_dist.py directory
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

from debian import Problem
from fresh import Checks, output

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
MACHINES = {"amd64": "X86-64", "arm64": "AArch64"}
IN_TARBALL = ["bloomport", "bloomport.so", "bloomport.1", "bloomport.conf", "LICENSE", "COPYRIGHT", "README.md", "rdb/FORMAT.md",
              "module/docs/OPERATIONS.md", "completions/bloomport.bash", "completions/bloomport.fish", "completions/_bloomport"]
PARTS = {"xxHash": "CONTAINS", "redismodule.h of Redis": "CONTAINS", "hiredis": "DYNAMIC_LINK",
         "OpenSSL (libssl, libcrypto)": "DYNAMIC_LINK", "zlib": "DYNAMIC_LINK", "Zstandard": "DYNAMIC_LINK",
         "liblzma of XZ Utils": "DYNAMIC_LINK"}


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


def check_programs(out, architecture):
    """All is there, of the architecture, for glibc 2.36; the tool runs, where it can. test-deb runs that of arm64."""
    path = the_one(out, f"bloomport-*-linux-{architecture}.tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        output(["tar", "-C", folder, "-xzf", path])
        top = os.path.join(folder, os.path.basename(path)[:-len(".tar.gz")])
        missing = [name for name in IN_TARBALL if not os.path.getsize(f"{top}/{name}")]
        assert not missing, missing
        for name in ("bloomport", "bloomport.so"):
            said = output(["readelf", "-hVW", f"{top}/{name}"])
            assert re.search("Machine: .*" + MACHINES[architecture], said), said
            newest = max(tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([\d.]+)", said))
            assert newest <= (2, 36), newest
        if architecture == output(["dpkg", "--print-architecture"]).strip():
            assert output([f"{top}/bloomport", "--version"]).startswith("bloomport "), "--version"


def check_sbom(out):
    path = the_one(out, "*.spdx.json")
    output([TOP + "/build/venv/bin/python", "-m", "spdx_tools.spdx.clitools.pyspdxtools", "-i", path])
    document = json.loads(read(path))
    packages = {one["SPDXID"]: one for one in document["packages"]}
    own = packages["SPDXRef-bloomport"]
    version = re.search(r"bloomport-(.*)\.spdx", path)[1]
    assert (own["name"], own["versionInfo"], own["licenseDeclared"]) == ("bloomport", version, "BSD-3-Clause"), own
    found = {packages[one["relatedSpdxElement"]]["name"]: one["relationshipType"] for one in document["relationships"]
             if one["spdxElementId"] == "SPDXRef-bloomport"}
    assert PARTS.items() <= found.items(), found
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
    checks("the SBOM is valid and names every part", check_sbom, out)
    checks("made twice is the same", check_made_again, out)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
