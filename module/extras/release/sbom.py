"""The SBOM of a release, SPDX 2.3 in JSON: what bloomport contains and what it is linked with.

It is composed in SPDX's tag-value form; pyspdxtools, the SPDX project's own program, validates it and
turns it into JSON. The libraries and their versions are those that deb.sh found in the programs and in
the system that they were built on: a library without a licence here is an error. Nothing in it
depends on when and where it is made.
"""
import glob
import hashlib
import os
import re
import subprocess
import sys

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
sys.path.insert(0, os.path.join(TOP, "tests/support"))
from debian import Problem  # noqa: E402 (the path has to be set first)

# What Debian's packages are called, in any release: the project and its licence.
LICENCES = {
    r"libc6": ("GNU C Library", "LGPL-2.1-or-later"),
    r"libhiredis([\d.]+|-dev)": ("hiredis", "BSD-3-Clause"),
    r"libssl3(t64)?": ("OpenSSL (libssl, libcrypto)", "Apache-2.0"),
    r"zlib1g": ("zlib", "Zlib"),
    r"libzstd1": ("Zstandard", "BSD-3-Clause OR GPL-2.0-only"),
    r"liblzma5": ("liblzma of XZ Utils", "LicenseRef-XZ-public-domain AND 0BSD"),
    r"libxxhash-dev": ("xxHash", "BSD-2-Clause"),
}
# How they are used, where not as a shared library.
KINDS = {"libxxhash-dev": "CONTAINS", "libhiredis-dev": "STATIC_LINK"}
DOCUMENT = """\
SPDXVersion: SPDX-2.3
DataLicense: CC0-1.0
SPDXID: SPDXRef-DOCUMENT
DocumentName: bloomport-{version}
DocumentNamespace: https://spdx.org/spdxdocs/bloomport-{version}-{digest}
Creator: Organization: bloomport contributors
Creator: Tool: pyspdxtools-{tool}
Created: {date:%Y-%m-%dT%H:%M:%SZ}
Relationship: SPDXRef-DOCUMENT DESCRIBES SPDXRef-bloomport
"""
PACKAGE = """
PackageName: {name}
SPDXID: SPDXRef-{id}
{version}PackageSupplier: {supplier}
PackageDownloadLocation: NOASSERTION
FilesAnalyzed: false
PackageLicenseConcluded: NOASSERTION
PackageLicenseDeclared: {licence}
PackageCopyrightText: {copyright}
"""
PUBLIC_DOMAIN = """
LicenseID: LicenseRef-XZ-public-domain
LicenseName: XZ Utils, public domain
ExtractedText: <text>liblzma is in the public domain.</text>
"""


def package(name, identifier, version, licence, supplier="NOASSERTION", **others):
    version = f"PackageVersion: {version}\n" if version else ""
    return PACKAGE.format(name=name, id=identifier, version=version, licence=licence, supplier=supplier,
                          copyright=others.get("copyright", "NOASSERTION"))


def licence_of(debian):
    for pattern, found in LICENCES.items():
        if re.fullmatch(pattern, debian):
            return found
    raise Problem(f"{__file__} has no licence for {debian}")


def used(work):
    """{(Debian's package, version): {(release, architecture)}} of all that was built."""
    found = {}
    for path in sorted(glob.glob(work + "/debs/*/libraries")):
        where = tuple(os.path.basename(os.path.dirname(path)).split("-"))
        with open(path, encoding="utf-8") as lines:
            for _, name, version in map(str.split, lines):
                found.setdefault((name, version), set()).add(where)
    return found


def describe_library(debian, version, places):
    name, licence = licence_of(debian)
    identifier = re.sub(r"[^\w.-]", "-", f"{debian}-{version}").replace("_", "-")
    text = package(name, identifier, version, licence, "Organization: Debian")
    for release, architecture in sorted(places):
        text += (f"ExternalRef: PACKAGE-MANAGER purl pkg:deb/debian/{debian}@{version.replace(':', '%3A').replace('+', '%2B')}"
                 f"?arch={architecture}&distro={release}\n")
    kind = KINDS.get(debian, "DYNAMIC_LINK")
    return text + f"Relationship: SPDXRef-bloomport {kind} SPDXRef-{identifier}\n"


def describe_header():
    """redismodule.h, which is compiled in; deps.sh noted which source package it is from."""
    folder = os.path.join(TOP, os.environ.get("REDISMODULE_DIR", "build/include"))
    with open(folder + "/redismodule.h", "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    version = ""
    if os.path.exists(folder + "/redismodule.version"):
        with open(folder + "/redismodule.version", encoding="utf-8") as file:
            version = file.read().strip()
    if not re.match(r"(\d+:)?7\.[02]\.", version):
        raise Problem(f"only the redismodule.h of Redis 7.0 and 7.2 has the BSD licence, this one is of {version or 'an unknown version'}")
    text = package("redismodule.h of Redis", "redismodule.h", version, "BSD-3-Clause")
    return text + f"PackageChecksum: SHA256: {digest}\nRelationship: SPDXRef-bloomport CONTAINS SPDXRef-redismodule.h\n"


def write(path, version, date, work):
    """The file, validated."""
    python = os.path.join(TOP, "build/venv/bin/python")
    cli = [python, "-m", "spdx_tools.spdx.clitools.pyspdxtools"]
    with open(os.path.join(os.path.dirname(__file__), "requirements.txt"), encoding="utf-8") as file:
        tool = re.search(r"^spdx-tools==(\S+)", file.read(), re.M)[1]
    body = package("bloomport", "bloomport", version, "BSD-3-Clause", "Organization: bloomport contributors",
                   copyright="<text>Copyright (c) 2026, bloomport contributors</text>")
    body += describe_header() + "".join(describe_library(*key, places) for key, places in sorted(used(work).items()))
    body += PUBLIC_DOMAIN
    digest = hashlib.sha256(body.encode()).hexdigest()[:16]
    source = work + "/bloomport.spdx"
    with open(source, "w", encoding="utf-8") as file:
        file.write(DOCUMENT.format(version=version, digest=digest, tool=tool, date=date) + body)
    done = subprocess.run([*cli, "-i", source, "-o", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode or not os.path.exists(path):
        raise Problem("pyspdxtools refuses the SBOM:\n" + done.stdout)
