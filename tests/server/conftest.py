"""The fixtures of the server tests. The server itself, and its environment, is redis_server.py.

    server      one Server for the whole test file; SERVER_CONFIG (a dict) and MODULE_ARGS (a list)
                in the test file give it other settings
    call        call("BF.ADD", "k", "a") -> exact RESP2 Reply, on an empty `server`
    call3       the same over RESP3
    events      events() -> the keyspace events since the last time
    stream      stream.take() -> the commands that `server` has appended to its AOF since the last time
    clock       the clock of `server` (clock.py); the test file has SERVER_HAS_CLOCK = True
    r           redis-py on an empty `server`, bytes in and out
    new_server  new_server(config=..., module_args=..., has_clock=...) starts one more, stopped after the test

A server that died by itself, or that ends with a non-zero exit code (the sanitizers do that),
fails the test that had it, with the end of its log.
"""

import pytest

pytest.register_assert_rewrite("checks")

from filters import Stream  # noqa: E402  (the line above must come first)
from redis_server import Server, ServerDied  # noqa: E402
from resp import OK  # noqa: E402


@pytest.fixture(scope="module")
def server(request):
    """One server per test file."""
    server = Server(
        config=getattr(request.module, "SERVER_CONFIG", None),
        module_args=getattr(request.module, "MODULE_ARGS", ()),
        has_clock=getattr(request.module, "SERVER_HAS_CLOCK", False),
    )
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture
def empty_server(server):
    """The file's server with no keys; if it dies, this test fails and the next gets a new one."""
    if server.process is None:
        server.start()
    assert server.call("FLUSHALL", "SYNC") == OK  # not in the background, whatever the server's default
    yield server
    try:
        server.check_alive()
    except ServerDied:
        server.kill9()
        raise


@pytest.fixture
def call(empty_server):
    connection = empty_server.connection()
    yield connection.call
    connection.close()


@pytest.fixture
def call3(empty_server):
    connection = empty_server.connection(protocol=3)
    yield connection.call
    connection.close()


@pytest.fixture
def r(empty_server):
    client = empty_server.client()
    yield client
    client.close()


@pytest.fixture
def clock(empty_server):
    """Clocks that can be moved are clock.py's; a test leaves its server at the machine's time."""
    yield empty_server.clock
    empty_server.clock.go_on()
    empty_server.clock.set(0)


@pytest.fixture
def events(server, call):
    """events() -> [(key, event)] since the last time, of all classes."""
    assert call("CONFIG", "SET", "notify-keyspace-events", "KEA") == OK
    client = server.client()
    subscription = client.pubsub()
    subscription.psubscribe("__keyevent@0__:*", "end")
    for _ in range(2):
        subscription.get_message(timeout=5)

    def take():
        call("PUBLISH", "end", "")
        seen = []
        while True:
            message = subscription.get_message(timeout=5)
            if message["channel"] == b"end":
                return seen
            seen.append((message["data"].decode(), message["channel"].decode().split(":", 1)[1]))

    yield take
    subscription.close()
    client.close()
    call("CONFIG", "SET", "notify-keyspace-events", "")


@pytest.fixture
def stream(call, server):
    """What the server appends to its AOF from now on; the file's SERVER_CONFIG has Stream.CONFIG."""
    stream = Stream(server)
    yield stream
    stream.close()


@pytest.fixture
def new_server():
    """A factory of further servers; each is stopped, cleanly, when the test ends."""
    started = []

    def start(*args, **kwargs):
        server = Server(*args, **kwargs)
        started.append(server)
        return server.start()

    yield start
    problems = []
    for server in started:
        try:
            server.close()
        except ServerDied as problem:
            problems.append(str(problem))
    if problems:
        raise ServerDied("\n".join(problems))
