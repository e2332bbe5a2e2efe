"""A server, Debian's redis_exporter and Debian's Prometheus, which scrapes it every second.

The programs are those in PATH, or what `make test-monitoring` unpacked into build/monitoring.
"""

import json
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "server"))

from filters import until  # noqa: E402  (found by the line above)
from redis_server import REPO, Server, free_port  # noqa: E402

MONITORING = REPO / "module" / "extras" / "monitoring"
UNPACKED = REPO / "build" / "monitoring" / "usr" / "bin"
EXPORTER_ACL = "on >secret %R~* -@all +ping +info +eval +bf.stats"  # as OPERATIONS.md has it
WATCHED = ["visitors", "seen:today", "missing", "text"]
CONFIG = """\
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%s]
scrape_configs:
  - job_name: redis
    static_configs: [{targets: ["127.0.0.1:%d"]}]
"""


def program(name):
    found = shutil.which(name) or shutil.which(name, path=str(UNPACKED))
    assert found, "%s is missing: run make test-monitoring" % name
    return found


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def answers(url):
    try:
        get(url)
        return True
    except (urllib.error.URLError, OSError):
        return False


class Stack:
    """The three programs. `folder` has their files."""

    def __init__(self, folder):
        self.folder, self.processes = folder, []
        self.server = Server(tcp=True)
        self.exporter = "http://127.0.0.1:%d" % free_port()
        self.prometheus = "http://127.0.0.1:%d" % free_port()

    def start(self):
        self.server.start()
        assert self.server.call("ACL", "SETUSER", "exporter", *EXPORTER_ACL.split()).value == "OK"
        self.launch_exporter()
        self.launch_prometheus()
        return self

    def launch(self, name, ready, *words):
        log = open(self.folder / (name + ".log"), "wb")
        self.processes.append(subprocess.Popen([program(name), *words], cwd=self.folder, stdin=subprocess.DEVNULL,
                                               stdout=log, stderr=log))
        log.close()
        until(lambda: answers(ready), name + " answers", 60)

    def launch_exporter(self):
        """With a script that watches keys, and a user that may do no more than the documents say."""
        text = (MONITORING / "exporter.lua").read_text(encoding="utf-8")
        script = self.folder / "exporter.lua"
        named = "local WATCHED = {%s}" % ", ".join(map(repr, WATCHED))
        assert text.count("\nlocal WATCHED = {}\n") == 1
        script.write_text(text.replace("\nlocal WATCHED = {}\n", "\n%s\n" % named), encoding="utf-8")
        address = self.exporter.removeprefix("http://")
        self.launch("prometheus-redis-exporter", self.exporter + "/health", "-script", str(script),
                    "-redis.addr", "redis://127.0.0.1:%d" % self.server.port, "-redis.user", "exporter",
                    "-redis.password", "secret", "-web.listen-address", address)

    def launch_prometheus(self):
        port = urllib.parse.urlsplit(self.exporter).port
        config = self.folder / "prometheus.yml"
        config.write_text(CONFIG % (MONITORING / "alerts.yml", port), encoding="utf-8")
        self.launch("prometheus", self.prometheus + "/-/ready", "--config.file", str(config),
                    "--storage.tsdb.path", str(self.folder / "data"),
                    "--web.listen-address", self.prometheus.removeprefix("http://"))

    def api(self, path, **parameters):
        text = get("%s/api/v1/%s?%s" % (self.prometheus, path, urllib.parse.urlencode(parameters)))
        answer = json.loads(text)
        assert answer["status"] == "success"
        return answer["data"]

    def query(self, expression):
        """{labels without the job's: number} of an instant query."""
        found = {}
        for one in self.api("query", query=expression)["result"]:
            labels = {name: text for name, text in one["metric"].items() if name in ("key", "filter")}
            found[tuple(sorted(labels.items()))] = float(one["value"][1])
        return found

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(30)
        self.server.close()


@pytest.fixture(scope="module")
def stack(tmp_path_factory):
    for variable in ("http_proxy", "HTTP_PROXY"):
        os.environ.pop(variable, None)
    stack = Stack(tmp_path_factory.mktemp("monitoring"))
    try:
        yield stack.start()
    finally:
        stack.close()
