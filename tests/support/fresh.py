"""Commands in a fresh Debian, and checks that are counted: what test-deb, test-dist and test-container share.

Packages are fetched through the machine's network. Servers run in a network, process and mount
namespace of their own, so they see no other server, and end with the namespace.
"""
import os
import shutil

from debian import Problem, make_root, output


def until_answers(cli):
    """Lines of a shell that wait for a server: what starts one returns before it listens. One that does
    not answer within half a minute ends the wait too, and the next command says so."""
    return f'for i in $(seq 300); do [ "$({cli} PING 2>&1)" != PONG ] || break; sleep 0.1; done\n'


ALONE = """
ip link set lo up
mount -t proc proc "$1/proc"
exec chroot "$1" sh -euc "cd /root && $2"
"""
# As Debian's units of both servers have it: NoExecPaths=/ and ExecPaths=/usr/bin/<server> /usr/lib /lib.
# $2: redis or valkey. The clients that look at it are outside of the inner mount namespace.
HARDENED = """
ip link set lo up
mount -t proc proc "$1/proc"
unshare --mount sh -euc '
    may() { mount --bind "$2" "$2" && mount -o "remount,bind,$1" "$2"; }
    may noexec "$1"
    may exec "$1/usr/lib"
    may exec "$(realpath "$1/usr/bin/$2-server")"
    ! chroot "$1" /usr/bin/env true 2>/dev/null || { echo "the mount is executable"; exit 1; }
    exec chroot --userspec="$2:$2" "$1" "/usr/bin/$2-server" "/etc/$2/$2.conf" --daemonize no --logfile "" --pidfile ""
    ' sh "$1" "$2" &
""" + until_answers('chroot "$1" "$2-cli"') + 'chroot "$1" "$2-cli" BF.EXISTS hardened item\n'


class Fresh:
    """A fresh Debian below a folder, with these packages; it is removed at the end of a `with`."""

    def __init__(self, folder, release, packages):
        self.root = make_root(folder, release, packages)
        # make_root leaves out recommended packages, which a user gets.
        with open(self.root + "/etc/apt/apt.conf.d/99test", "w", encoding="utf-8") as conf:
            conf.write('APT::Get::Assume-Yes "true";\n')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root)

    def run(self, script):
        """What a script of the fresh Debian's shell prints; it may use the network."""
        environment = ["env", "-i", "HOME=/root", "DEBIAN_FRONTEND=noninteractive", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]
        return output(["chroot", self.root, *environment, "sh", "-euc", f"cd /root && {script}"])

    def alone(self, script, outer=ALONE):
        """The same with no network but its own; what it started ends with it."""
        return output(["unshare", "--net", "--pid", "--fork", "--mount", "--kill-child", "env", "-i", "HOME=/root",
                       "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "sh", "-euc", outer, "sh", self.root, script])

    def files(self, *besides):
        """All files, but those that any installation changes."""
        left_out = {"var/lib/dpkg", "var/cache", "var/log", "var/lib/apt", "tmp", "run", "proc", "root", *besides}
        found = set()
        for folder, folders, names in os.walk(self.root):
            here = os.path.relpath(folder, self.root)
            folders[:] = [name for name in folders if os.path.normpath(os.path.join(here, name)) not in left_out]
            found.update(os.path.normpath(os.path.join(here, name)) for name in [*folders, *names])
        return found


class Checks:
    """Counts claims: `checks("name", function, ...)` prints whether the function returned."""

    def __init__(self):
        self.passed = self.failed = 0

    def __call__(self, name, function, *words):
        """Whether it held, that is, neither a Problem nor a failed assert."""
        try:
            function(*words)
        except (Problem, AssertionError, OSError, ValueError) as error:
            self.failed += 1
            print(f"FAILED {name}: {error or type(error).__name__}", flush=True)
            return False
        self.passed += 1
        print(f"ok     {name}", flush=True)
        return True

    def in_order(self, name, steps):
        """Steps that need each other: after a failed one the others count as failed too."""
        for number, step in enumerate(steps):
            if not self(f"{name}: {step.__name__.replace('_', ' ')}", step):
                self.failed += len(steps) - number - 1
                return

    def end(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0
