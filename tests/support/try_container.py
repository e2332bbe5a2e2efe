"""What `make test-container` does: executes a Containerfile without a container engine, then its CMD.

    try_container.py directory Containerfile

Each FROM is a fresh Debian in a folder: of the release that the image's name says, or, for an image of a
server, one with Debian's package of that server, which stands in for it, and a start script that does
what the images' own does: words that begin with "-" get the server's name before them, and the server
runs as its own user. RUN is a chroot with the machine's network, COPY copies, CMD runs in a network of
its own. An instruction that is not here is an error. So the steps and the module are tested; a
container engine, layers, caches and the images of a registry are not.
"""
import json
import os
import re
import shutil
import sys

from debian import Problem
from fresh import Checks, Fresh, until_answers

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
MODULE = "/usr/local/lib/bloomport.so"
# image: the release and packages that stand in for it, and its server
IMAGES = {
    "debian:bookworm-slim": ("bookworm", [], None),
    "redis:7": ("bookworm", ["redis-server"], "redis"),
    "valkey/valkey:8": ("trixie", ["valkey-server"], "valkey"),
}
START = """\
#!/bin/sh
case $1 in -*) set -- {0}-server "$@" ;; esac
cd /var/lib/{0}
exec setpriv --reuid={0} --regid={0} --clear-groups "$@"
"""
# If the server does not start, what it printed tells why.
USE = """
/entrypoint {command} >/tmp/server.log 2>&1 &
{wait}{cli} BF.ADD visitors alice || cat /tmp/server.log
{cli} BF.EXISTS visitors alice
{cli} BF.EXISTS visitors bob
"""


def instructions(path):
    """(word, rest) of each instruction; continued lines are joined, comments left out."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"^\s*#.*\n", "", file.read(), flags=re.M)
    for line in re.sub(r"\\\n", " ", text).splitlines():
        if line.strip():
            word, _, rest = line.strip().partition(" ")
            yield word.upper(), rest.strip()


class Build:
    """One build: `stages[name]` is a Fresh, the last one is `stage`. A stage with a name that is there
    already, from another build, is not built again, as an engine's cache has it."""

    def __init__(self, folder, arguments, stages):
        self.folder, self.given = folder, arguments
        self.arguments, self.stages, self.stage = {}, stages, None
        self.directory = self.server = self.command = None

    def expand(self, text):
        return re.sub(r"\$\{(\w+)\}", lambda found: self.arguments[found[1]], text)

    def do_arg(self, rest):
        name, _, default = rest.partition("=")
        self.arguments[name] = self.given.get(name, default)

    def do_from(self, rest):
        image, *name = re.split(r"\s+AS\s+", self.expand(rest), flags=re.I)
        if image not in IMAGES:
            raise Problem(f"nothing stands in for the image {image}")
        release, packages, self.server = IMAGES[image]
        self.stage = Fresh(f"{self.folder}/{name[0] if name else 'last'}", release, packages)
        self.stages.update({one: self.stage for one in name})
        self.directory = "/"
        if self.server:
            path = self.stage.root + "/entrypoint"
            with open(path, "w", encoding="utf-8") as file:
                file.write(START.format(self.server))
            os.chmod(path, 0o755)

    def do_workdir(self, rest):
        self.directory = os.path.join(self.directory, rest)
        os.makedirs(self.stage.root + self.directory, exist_ok=True)

    def do_run(self, rest):
        self.stage.run(f"cd {self.directory} && {rest}")

    def do_copy(self, rest):
        *options, = re.findall(r"--(\w+)=(\S+)", rest)
        *paths, target = re.sub(r"--\w+=\S+", "", rest).split()
        if [name for name, _ in options if name != "from"]:
            raise Problem(f"COPY has an option that is not known here: {rest}")
        source = self.stages[dict(options)["from"]].root if options else TOP
        inside = self.stage.root + os.path.join(self.directory, target)
        for path in paths:
            found = os.path.join(source, path.lstrip("/"))
            if os.path.isdir(found):
                shutil.copytree(found, inside, dirs_exist_ok=True)
            else:
                os.makedirs(inside if target.endswith("/") else os.path.dirname(inside), exist_ok=True)
                shutil.copy(found, inside)

    def do_cmd(self, rest):
        self.command = json.loads(rest)

    def execute(self, path):
        is_built = False
        for word, rest in instructions(path):
            is_built = rest.split()[-1] in self.stages if word == "FROM" else is_built
            if is_built:
                continue
            step = getattr(self, "do_" + word.lower(), None)
            if not step:
                raise Problem(f"no such instruction here: {word}")
            print(f"       {word} {rest}", flush=True)
            step(rest)


class Image:
    """What is claimed of one built image; the methods are the steps, in order."""

    def __init__(self, build, path):
        self.build, self.path = build, path

    def every_instruction_succeeds(self):
        self.build.execute(self.path)

    def the_module_needs_the_C_library_alone(self):
        said = self.build.stage.run("ldd " + MODULE)
        names = re.findall(r"^\s*(\S+)", said, re.M)
        other = [name for name in names if not re.match(r"linux-vdso|lib[cm]\.so\.6|/lib\S*/ld-linux|not", name)]
        assert names and not other and "not found" not in said, said
        assert os.stat(self.build.stage.root + MODULE).st_mode & 0o005 == 0o005

    def used(self, command):
        cli = f"{self.build.server}-cli"
        return self.build.stage.alone(USE.format(command=command, cli=cli, wait=until_answers(cli)))

    def its_CMD_starts_a_server_with_the_module(self):
        assert not any(re.search(r"\s", word) for word in self.build.command)
        said = self.used(" ".join(self.build.command))
        assert said.split() == ["1", "1", "0"], said

    def without_CMD_there_is_no_BF_ADD(self):
        said = self.used(f"{self.build.server}-server")
        assert "unknown command" in said.lower(), said

    def steps(self):
        return [self.every_instruction_succeeds, self.the_module_needs_the_C_library_alone,
                self.its_CMD_starts_a_server_with_the_module, self.without_CMD_there_is_no_BF_ADD]


def main(folder, path):
    if os.getuid() != 0:
        sys.exit("make test-container: needs root, for chroot")
    checks, stages = Checks(), {}
    for base in ("", "valkey/valkey:8"):
        build = Build(folder, {"BASE": base} if base else {}, stages)
        checks.in_order(base or "default image", Image(build, path).steps())
    shutil.rmtree(folder)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
