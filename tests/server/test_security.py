"""The claims of module/docs/SECURITY.md: the ACL examples, run as they stand there, and what an attacker
who knows the hash gains by choosing the items."""

import hashlib
import hmac
import re
from pathlib import Path

import pytest

from bloom_model import LayerModel, hash_xxh64, positions
from checks import COMMANDS, add_all, look_up_all, has_module_categories, layers_of
from resp import OK
from test_blocked import BlockedLayer

DOCUMENT = Path(__file__).resolve().parents[2] / "module" / "docs" / "SECURITY.md"

# ---- ACL ---------------------------------------------------------------------------------------

EXAMPLES = {
    words.split()[2]: words.split()
    for words in re.findall(r"^ACL SETUSER [^#\n]*", DOCUMENT.read_text(encoding="utf-8"), re.M)
}
ASKS = {"BF.EXISTS", "BF.MEXISTS"}
ADDS = ASKS | {"BF.ADD", "BF.MADD", "BF.CARD"}
REPORTS = ASKS | {"BF.CARD", "BF.INFO", "BF.STATS", "BF.DEBUG"}


@pytest.fixture
def user(call):
    """user(name) makes the document's user and gives may(command, key): is it allowed with `key` as all its keys?"""

    def make(name):
        assert call("ACL", "DELUSER", name).plain in (0, 1)
        assert call(*EXAMPLES[name]) == OK

        def may(command, key):
            words = COMMANDS[command][1] if command in COMMANDS else ("k", "v")[: 2 if command == "SET" else 1]
            keys = call("COMMAND", "GETKEYS", command, *words).plain
            words = [key if str(word).encode() in keys else word for word in words]
            return call("ACL", "DRYRUN", name, command, *words) == OK

        return may

    return make


def test_readme_has_the_examples():
    assert list(EXAMPLES) == ["checker", "adder", "reporter", "keeper"]


def test_checker_may_look_items_up_in_its_filters_and_nothing_else(user):
    may = user("checker")
    assert {name for name in COMMANDS if may(name, "seen:a")} == ASKS
    assert not any(may(name, "other") for name in COMMANDS)
    assert not may("GET", "seen:a") and not may("DUMP", "seen:a")


def test_adder_may_add_and_look_up_but_not_create_load_dump_or_drop(user):
    may = user("adder")
    assert {name for name in COMMANDS if may(name, "seen:a")} == ADDS
    assert not any(may(name, "other") for name in COMMANDS)
    assert not may("DEL", "seen:a")


def test_reporter_may_look_at_its_filters_and_at_the_figures_and_change_nothing(user, call):
    may = user("reporter")
    assert {name for name in COMMANDS if may(name, "seen:a")} == REPORTS
    assert not any(may(name, "other") for name in COMMANDS)
    assert call("ACL", "DRYRUN", "reporter", "INFO", "bf") == OK
    assert call("ACL", "DRYRUN", "reporter", "MEMORY", "USAGE", "seen:a") == OK
    for words in (("FUNCTION", "FLUSH"), ("SCRIPT", "FLUSH"), ("EVAL", "return 1", "0"), ("FLUSHALL",)):
        assert call("ACL", "DRYRUN", "reporter", *words) != OK


def test_what_stands_for_the_category_on_older_servers_is_every_command():
    line = re.search(r"instead of `\+@bloom`: `([^`]*)`", DOCUMENT.read_text(encoding="utf-8")).group(1)
    assert {word[1:].upper() for word in line.split()} == set(COMMANDS)


def test_keeper_may_run_all_of_the_category(user, r):
    if not has_module_categories(r):
        pytest.skip("modules can have ACL categories since Redis 7.4 and Valkey 8.0")
    may = user("keeper")
    assert {name for name in COMMANDS if may(name, "seen:a")} == set(COMMANDS)
    assert not may("SET", "seen:a")


def test_writing_needs_both_key_permissions_for_the_answer_tells_what_the_filter_holds(call):
    assert call("ACL", "SETUSER", "writer", "on", "nopass", "resetkeys", "%W~*", "+@all") == OK
    assert call("ACL", "DRYRUN", "writer", "BF.ADD", "k", "a") != OK


def test_denied_command_through_a_script_is_denied_too(server, call):
    assert call("BF.ADD", "seen:a", "x").plain == 1
    assert call("ACL", "SETUSER", "scripted", "on", "nopass", "~*", "-@all", "+bf.exists", "+eval") == OK
    connection = server.connection()
    assert connection.call("AUTH", "scripted", "") == OK
    assert connection.call("EVAL", "return redis.call('BF.EXISTS', KEYS[1], 'x')", 1, "seen:a").plain == 1
    assert connection.call("EVAL", "return redis.call('BF.ADD', KEYS[1], 'y')", 1, "seen:a").is_error
    connection.close()


# ---- Chosen items ------------------------------------------------------------------------------

CAPACITY, RATE = 1000, 0.01
ABSENT = ["absent%d" % i for i in range(20_000)]
TRIES = 60  # candidates per item, and a quarter of that for BLOCKED: a second of one core


def chosen_for_classic(layer):
    """Chooses from every TRIES candidates the one that sets most new bits."""
    model = LayerModel(layer.bits, layer.hashes, layer.capacity)
    chosen = []
    for i in range(CAPACITY):
        best, most = None, -1
        for j in range(TRIES):
            item = b"%d-%d" % (i, j)
            item_hash = hash_xxh64(item)
            new = sum(not model.bits[p >> 3] & 1 << (p & 7) for p in set(positions(item_hash, layer.bits, layer.hashes)))
            if new > most:
                best, most = (item, item_hash), new
            if new == layer.hashes:
                break
        model.set(best[1])
        chosen.append(best[0])
    return chosen


def chosen_for_blocked(layer):
    """Block after block is filled to its last bit, as long as the items last."""
    model = BlockedLayer(layer.bits, layer.capacity)
    by_block = {}
    for i in range(CAPACITY * TRIES // 4):
        item = b"%d" % i
        masks = model._masks(item)
        by_block.setdefault(masks[0][0], []).append((item, masks))
    chosen = []
    for candidates in by_block.values():
        while len(chosen) < CAPACITY:
            new = [sum(not model.words[at] & mask for at, mask in masks) for _, masks in candidates]
            best = max(range(len(new)), key=new.__getitem__)
            if new[best] == 0:
                break
            model.set(candidates[best][0])
            chosen.append(candidates[best][0])
    return chosen


def rate_after(call, layout, choose, change=lambda item: item):
    """False positives among absent items once the items `choose` found, changed, are in."""
    call("DEL", "k")
    assert call("BF.RESERVE", "k", RATE, CAPACITY, "NONSCALING", "LAYOUT", layout) == OK
    items = choose(layers_of(call, "k")[0])
    added = add_all(call, "k", [change(item) for item in items])
    assert len(added) == CAPACITY
    return sum(look_up_all(call, "k", ABSENT)) / len(ABSENT)


def keyed(item):
    return hmac.new(b"a secret of the application", item, hashlib.sha256).digest()


@pytest.mark.parametrize(
    "layout, choose, least, most",
    [("CLASSIC", chosen_for_classic, 0.03, 0.10), ("BLOCKED", chosen_for_blocked, 0.30, 0.80)],
    ids=["classic", "blocked"],
)
def test_chosen_items_raise_the_error_rate_and_a_secret_key_prevents_it(call, layout, choose, least, most):
    """CLASSIC: at most all k bits of every item are new, a fill of ln 2 and 0.69^7 = 0.077 at p = 0.01.
    BLOCKED: 32 items of 8 bits fill a block of 256, so at most 3/4 of its blocks answer yes to all.
    With a secret key the items are as good as random: 0.01; for 20,000 lookups 5 sigmas are 0.0035."""
    chosen = rate_after(call, layout, choose)
    hidden = rate_after(call, layout, choose, keyed)
    print("%s: %.4f with chosen items, %.4f with a secret key, %.2f promised" % (layout, chosen, hidden, RATE))
    assert least < chosen < most
    assert hidden < RATE * 1.1 + 0.0035
