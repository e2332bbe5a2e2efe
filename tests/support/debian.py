"""Debian's packages of any release and architecture, from the machine's own mirror; nothing is installed.

    debian.py unpack folder release[,release...] architecture package ...
        the packages and all that they depend on, the C library included, into folder/root
    debian.py source folder release package ...
        source packages, each with Debian's patches, into folder/<package>
    debian.py root folder release [package ...]
        a fresh Debian for chroot, with these packages installed, "libssl-dev:arm64" of another
        architecture too; needs root. The fresh Debian itself is kept in build/roots/<release>.tar, so
        the second time takes seconds

The mirror is the one that the machine's apt sources name: its address, options and key are used for
another release too. apt works on state and cache folders of its own.
"""
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys

ROOTS = os.path.join("build", "roots")

APT_CONF = """\
Dir::State "{0}/state";
Dir::State::status "{0}/status";
Dir::Cache "{0}/cache";
Dir::Etc::sourcelist "{0}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Sandbox::User "root";
APT::Install-Recommends "false";
Acquire::Languages "none";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
"""


class Problem(Exception):
    """The packages are not available here; the text has the reason."""


# ---- The machine's mirror --------------------------------------------------------------------


def entries():
    """(options, address, suites) of every binary source of this machine, in either notation."""
    for path in ["/etc/apt/sources.list", *sorted(glob.glob("/etc/apt/sources.list.d/*.list"))]:
        if os.path.exists(path):
            with open(path, encoding="utf-8") as lines:
                for line in lines:
                    found = re.match(r"\s*deb\s+(?:\[(.*?)\]\s+)?(\S+)\s+(\S+)\s", line)
                    if found:
                        yield (found[1] or "").split(), found[2], [found[3]]
    for path in sorted(glob.glob("/etc/apt/sources.list.d/*.sources")):
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"^#.*\n", "", file.read(), flags=re.M)
        for paragraph in re.split(r"\n\s*\n", text):
            fields = dict(re.findall(r"^([\w-]+):[ \t]*((?:.*)(?:\n[ \t].*)*)", paragraph, re.M))
            fields = {name.lower(): value.strip() for name, value in fields.items()}
            if "deb" not in fields.get("types", "").split() or fields.get("enabled") == "no":
                continue
            options = []
            if fields.get("signed-by", "").startswith("/"):
                options.append("signed-by=" + fields["signed-by"])
            if "trusted" in fields:
                options.append("trusted=" + fields["trusted"])
            yield options, fields["uris"].split()[0], fields.get("suites", "").split()


def own_release():
    """The codename of this machine's Debian: "bookworm"."""
    with open("/etc/os-release", encoding="utf-8") as release:
        codename = re.search(r'^VERSION_CODENAME="?([\w-]+)', release.read(), re.M)
    return codename and codename[1]


def mirror():
    """(options, address) of the source that has this machine's own release."""
    mine = own_release()
    for options, address, has in entries():
        if mine in has:
            return options, address
    raise Problem("no apt source of Debian on this machine has a release named " + str(mine))


def sources(suites, kind="deb"):
    """Lines of a sources.list for these releases."""
    options, address = mirror()
    words = " ".join(["target=Packages" if kind == "deb" else "target=Sources", *options])
    return "".join(f"{kind} [{words}] {address} {suite} main\n" for suite in suites)


# ---- apt, with folders of its own ------------------------------------------------------------


def run(command, log, **options):
    log.write("$ " + " ".join(command) + "\n")
    log.flush()
    if subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **options).returncode:
        raise Problem(f"{command[0]} failed, see {log.name}")


def output(command, **options):
    """What the command prints, stderr included; a Problem with the end of it if it fails."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", check=False, **options)
    if done.returncode:
        raise Problem(f"exit status {done.returncode} of {' '.join(command)[-300:]}\n{done.stdout[-3000:]}")
    return done.stdout


def private_apt(work, lines, architecture, log):
    """The words of an apt-get that knows these sources and no installed package; its lists are new."""
    for folder in ("state/lists/partial", "cache/archives/partial"):
        os.makedirs(os.path.join(work, folder))
    conf = APT_CONF.format(work)
    if architecture:
        conf += f'APT::Architecture "{architecture}";\nAPT::Architectures "{architecture}";\n'
    for name, text in (("status", ""), ("apt.conf", conf), ("sources.list", lines)):
        with open(os.path.join(work, name), "w", encoding="utf-8") as file:
            file.write(text)
    apt = ["apt-get", "-q", "-y", "-c", os.path.join(work, "apt.conf")]
    run([*apt, "update"], log)
    return apt


def new_work(folder):
    """folder/apt, empty."""
    work = os.path.join(os.path.abspath(folder), "apt")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    return work


def unpack(folder, suites, packages, architecture=""):
    """folder/root: the packages, of the last of these releases, and what they depend on, of any."""
    work, root = new_work(folder), os.path.join(folder, "root")
    with open(os.path.join(folder, "fetch.log"), "w", encoding="utf-8") as log:
        apt = private_apt(work, sources(suites), architecture, log)
        run([*apt, "install", "--download-only", "-t", suites[-1], *packages], log)
        for deb in sorted(glob.glob(os.path.join(work, "cache/archives/*.deb"))):
            run(["dpkg-deb", "-x", deb, root], log)
    keep_links_inside(root)
    shutil.rmtree(work)
    return root


def keep_links_inside(root):
    """Absolute symbolic links (libm.so is one) lead to the file in this root, not to the machine's own."""
    for folder, folders, files in os.walk(root):
        for path in (os.path.join(folder, name) for name in folders + files):
            if os.path.islink(path) and os.readlink(path).startswith("/"):
                target = os.path.relpath(root + os.readlink(path), folder)
                os.remove(path)
                os.symlink(target, path)


def unpack_source(folder, release, packages):
    """folder/<package> for each source package, patched as Debian builds it."""
    work = new_work(folder)
    with open(os.path.join(folder, "fetch.log"), "w", encoding="utf-8") as log:
        apt = private_apt(work, sources([release], "deb-src"), "", log)
        for package in packages:
            run([*apt, "source", "--download-only", "--only-source", package], log, cwd=work)
            target = os.path.join(os.path.abspath(folder), package)
            shutil.rmtree(target, ignore_errors=True)
            description, = glob.glob(os.path.join(work, package + "_*.dsc"))
            run(["dpkg-source", "--no-check", "--no-copy", "-x", description, target], log)
    shutil.rmtree(work)


# ---- A fresh Debian --------------------------------------------------------------------------


def pack(root, tarball, log):
    """The tarball appears when it is complete: another target may be making the same one."""
    os.makedirs(ROOTS, exist_ok=True)
    part = f"{tarball}.{os.getpid()}"
    run(["tar", "-C", root, "-cf", part, "."], log)
    os.rename(part, tarball)


def bootstrap(release, root, log):
    """An empty Debian of this release, from the tarball of the last time where there is one."""
    tarball = os.path.join(ROOTS, release + ".tar")
    if os.path.exists(tarball):
        return run(["tar", "-C", root, "-xf", tarball], log)
    run(["debootstrap", "--variant=minbase", release, root, mirror()[1]], log)
    pack(root, tarball, log)


def configure(root):
    """apt asks no questions there, and installing a server does not start it: the machine's network
    is shared."""
    shutil.copy("/etc/resolv.conf", os.path.join(root, "etc/resolv.conf"))
    with open(os.path.join(root, "etc/apt/apt.conf.d/99test"), "w", encoding="utf-8") as conf:
        conf.write('APT::Get::Assume-Yes "true";\nAPT::Install-Recommends "false";\n')
    policy = os.path.join(root, "usr/sbin/policy-rc.d")
    with open(policy, "w", encoding="utf-8") as script:
        script.write("#!/bin/sh\nexit 101\n")
    os.chmod(policy, 0o755)


def install(root, packages, log):
    """Packages of other architectures have a suffix: "libssl-dev:arm64"."""
    for architecture in sorted({package.split(":")[1] for package in packages if ":" in package}):
        run(["chroot", root, "dpkg", "--add-architecture", architecture], log)
    apt = ["chroot", root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"]
    run([*apt, "update"], log)
    if packages:
        run([*apt, "install", *packages], log)
        run([*apt, "clean"], log)


def make_root(folder, release, packages=(), keep=False):
    """folder: a fresh Debian, with these packages. keep: with them it is packed into build/roots, and
    taken from there the next time; `rm build/roots/*` fetches anew."""
    root = os.path.abspath(folder)
    os.makedirs(os.path.dirname(root), exist_ok=True)
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(root)
    digest = hashlib.sha256(" ".join(packages).encode()).hexdigest()[:8]
    tarball = os.path.join(ROOTS, f"{release}-{digest}.tar")
    with open(root + ".log", "w", encoding="utf-8") as log:
        if keep and os.path.exists(tarball):
            run(["tar", "-C", root, "-xf", tarball], log)
            return root
        bootstrap(release, root, log)
        configure(root)
        install(root, packages, log)
        if keep:
            pack(root, tarball, log)
    return root


def main(words):
    what, folder, *rest = words
    os.makedirs(folder, exist_ok=True)
    if what == "unpack":
        print(unpack(folder, rest[0].split(","), rest[2:], rest[1]))
    elif what == "source":
        unpack_source(folder, rest[0], rest[1:])
    elif what == "root":
        print(make_root(folder, rest[0], rest[1:]))
    else:
        raise Problem("unpack, source or root")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Problem as problem:
        sys.exit(f"debian.py: {problem}")
