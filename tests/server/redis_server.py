"""A private server process with the module loaded. Nothing here knows how the module works.

Environment:
    REDIS_SERVER        server binary, default redis-server
    BLOOMPORT_SO        module, default <repo>/build/bloomport.so
    BLOOMPORT_PRELOAD   LD_PRELOAD of the server process only (the sanitizer's run-time library);
                        ASAN_OPTIONS, UBSAN_OPTIONS and LSAN_OPTIONS pass through
    BLOOMPORT_WRAP      words before the server's command: valgrind or an emulator, and its options
    BLOOMPORT_EMULATED  the architecture that is emulated, if one is
    BLOOMPORT_KEEP      if set, the servers' directories are not removed
"""

import fcntl
import os
import resource
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import redis

from clock import Clock
from resp import Connection

REPO = Path(__file__).resolve().parents[2]
REDIS_SERVER = os.environ.get("REDIS_SERVER", "redis-server")
MODULE = os.path.abspath(os.environ.get("BLOOMPORT_SO", str(REPO / "build" / "bloomport.so")))
PRELOAD = os.environ.get("BLOOMPORT_PRELOAD", "")
WRAP = shlex.split(os.environ.get("BLOOMPORT_WRAP", ""))
EMULATED = os.environ.get("BLOOMPORT_EMULATED", "")
# The module or its allocator is not the one that users have: sanitizers, valgrind, coverage.
INSTRUMENTED = bool(PRELOAD or (WRAP and not EMULATED) or os.environ.get("BLOOMPORT_COVERAGE"))
START_SECONDS = 120 if PRELOAD or WRAP else 30
STOP_SECONDS = 120 if PRELOAD or WRAP else 30

# Below 32768, also with 10000 added: the kernel takes ports of connections from there on.
PORTS = range(12000, 22000)

DEFAULT_CONFIG = {
    "save": "",
    "appendonly": "no",
    "daemonize": "no",
    "enable-debug-command": "yes",
    "enable-module-command": "yes",
    "rdbcompression": "no",
    "repl-diskless-sync-delay": "0",
    "logfile": "server.log",
}


class ServerDied(AssertionError):
    """The server died, did not start, or did not end cleanly; the text has the end of its log."""


def quote(word):
    """One word of a configuration file line, as sdssplitargs reads it."""
    special = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"%s"' % "".join(special.get(c, c) for c in str(word))


def is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port():
    """A port that nothing listens on, nor on port + 10000, the cluster bus.

    Test runs side by side count through PORTS together, so none takes what another has just been given.
    """
    with open(os.path.join(tempfile.gettempdir(), "bloomport.ports.%d" % os.getuid()), "a+", encoding="ascii") as counter:
        fcntl.flock(counter, fcntl.LOCK_EX)
        counter.seek(0)
        n = int(counter.read() or os.getpid()) + 1
        while not (is_free(PORTS[n % len(PORTS)]) and is_free(PORTS[n % len(PORTS)] + 10000)):
            n += 1
        counter.truncate(0)
        counter.write(str(n))
        return PORTS[n % len(PORTS)]


class Server:
    """One private server: own directory, unix socket, and with tcp=True a free port.

    `config` holds directives beyond DEFAULT_CONFIG; a list or tuple as value means several words,
    a list of tuples several lines. `module=None` loads no module. The configuration file is
    written once, so a restart sees what CONFIG REWRITE left. With has_clock=True its time of day
    is what `clock` says, see clock.py. `command` starts another program than REDIS_SERVER.
    """

    def __init__(self, config=None, module_args=(), module=MODULE, tcp=False, has_clock=False, command=(*WRAP, REDIS_SERVER)):
        if module and not os.path.exists(module):
            raise FileNotFoundError("%s is missing: run make first" % module)
        self.directory = tempfile.mkdtemp(prefix="bloomport-")
        self.socket = os.path.join(self.directory, "s")
        self.port = free_port() if tcp else 0
        self.config_file = os.path.join(self.directory, "redis.conf")
        self.clock = Clock(os.path.join(self.directory, "clock"), self.time_ms) if has_clock else None
        self.process, self.command = None, command
        self._connections = []
        lines = {"dir": self.directory, "port": self.port, "unixsocket": self.socket}
        if tcp:
            lines["bind"] = "127.0.0.1"
        lines.update(DEFAULT_CONFIG, **(config or {}))
        with open(self.config_file, "w", encoding="utf-8") as out:
            for name, value in lines.items():
                several = value if isinstance(value, list) else [value]
                for words in several:
                    words = words if isinstance(words, tuple) else (words,)
                    out.write("%s %s\n" % (name, " ".join(map(quote, words))))
            if module:
                out.write(" ".join(["loadmodule"] + [quote(w) for w in (module, *module_args)]) + "\n")

    # Start and stop

    def launch(self):
        """Start the process and wait for nothing."""
        assert self.process is None
        if os.path.exists(self.socket):
            os.unlink(self.socket)
        environment = dict(os.environ)
        environment.pop("LD_PRELOAD", None)
        if PRELOAD:
            environment["LD_PRELOAD"] = PRELOAD
        if self.clock:
            environment.update(self.clock.environment(PRELOAD))
        with open(os.path.join(self.directory, "stderr.log"), "ab") as stderr:
            self.process = subprocess.Popen(
                [*self.command, self.config_file],
                cwd=self.directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=stderr,
                stderr=stderr,
                restore_signals=False,  # a full disk (RLIMIT_FSIZE) is an error, not SIGXFSZ
            )

    def start(self):
        """Start the process and wait until it answers PING and has loaded its data."""
        self.launch()
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            if self.process.poll() is not None:
                code, self.process = self.process.returncode, None
                raise ServerDied("the server ended at start, code %s\n%s" % (code, self.log_tail()))
            if time.monotonic() > deadline:
                self.kill9()
                raise ServerDied("no answer in %d s\n%s" % (START_SECONDS, self.log_tail()))
            time.sleep(0.01)
        return self

    def answers(self):
        try:
            probe = Connection(self.socket, timeout=5)
        except OSError:
            return False
        try:
            return not probe.call("PING").is_error  # -LOADING while it reads its files
        except OSError:
            return False
        finally:
            probe.close()

    def stop(self):
        """End it cleanly, without saving. ServerDied if it was dead or its exit code is not 0."""
        self.check_alive()
        self._drop_connections()
        try:
            shutdown = Connection(self.socket, timeout=STOP_SECONDS)
            shutdown.send("SHUTDOWN", "NOSAVE")
            code = self.process.wait(STOP_SECONDS)
            shutdown.close()
        except (OSError, subprocess.TimeoutExpired) as problem:
            self.kill9()
            raise ServerDied("did not stop: %s\n%s" % (problem, self.log_tail())) from problem
        self.process = None
        if code != 0:
            raise ServerDied("ended with code %d\n%s" % (code, self.log_tail()))

    def restart(self):
        """Clean stop and start in the same directory; nothing is saved unless the test did it."""
        self.stop()
        return self.start()

    def kill9(self):
        """SIGKILL, as a power cut would; start() works again afterwards."""
        self._drop_connections()
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def close(self):
        """Stop, if it runs, and remove the directory."""
        try:
            if self.process is not None:
                self.stop()
        finally:
            self.kill9()
            if not os.environ.get("BLOOMPORT_KEEP"):
                shutil.rmtree(self.directory, ignore_errors=True)

    def limit_files(self, nbytes):
        """No file of the server may grow beyond `nbytes`, as on a full disk; None lifts the limit."""
        limit = resource.RLIM_INFINITY if nbytes is None else nbytes
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    def check_alive(self):
        """ServerDied if the process ended by itself."""
        if self.process is None:
            raise ServerDied("the server is not running")
        if self.process.poll() is not None:
            code, self.process = self.process.returncode, None
            raise ServerDied("the server died by itself, code %d\n%s" % (code, self.log_tail()))

    # What it says and holds

    @property
    def pid(self):
        return self.process.pid

    @property
    def log(self):
        """The log so far, with what was written to stdout and stderr at its end."""
        text = ""
        for name in ("server.log", "stderr.log"):
            path = os.path.join(self.directory, name)
            if os.path.exists(path):
                with open(path, encoding="utf-8", errors="backslashreplace") as lines:
                    text += lines.read()
        return text

    def log_tail(self, lines=60):
        return "\n".join(self.log.splitlines()[-lines:])

    def time_ms(self):
        """What it takes the time to be, in ms since the epoch; None if it is not running."""
        try:
            seconds, microseconds = map(int, self.call("TIME").plain)
        except OSError:
            return None
        return 1000 * seconds + microseconds // 1000

    def rss(self):
        """Resident bytes of the process, from the kernel."""
        with open("/proc/%d/statm" % self.pid, encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    # Clients

    def client(self):
        """redis-py, bytes in and out."""
        client = redis.Redis(unix_socket_path=self.socket, decode_responses=False)
        self._connections.append(client)
        return client

    def connection(self, protocol=2):
        """A raw connection that keeps reply shapes, see resp.py."""
        connection = Connection(self.socket, protocol)
        self._connections.append(connection)
        return connection

    def call(self, *words):
        """One command on a connection of its own."""
        connection = Connection(self.socket)
        try:
            return connection.call(*words)
        finally:
            connection.close()

    def cli(self, *arguments, stdin=None):
        """Run redis-cli against this server, return what it printed (bytes)."""
        command = [os.environ.get("REDIS_CLI", "redis-cli"), "-s", self.socket, *arguments]
        done = subprocess.run(command, input=stdin, stdout=subprocess.PIPE, check=True, timeout=60)
        return done.stdout

    def _drop_connections(self):
        for connection in self._connections:
            connection.close()
        self._connections = []


def served(**options):
    """What a fixture yields from: a started server, which is closed at the end."""
    server = Server(**options)
    try:
        yield server.start()
    finally:
        server.close()
