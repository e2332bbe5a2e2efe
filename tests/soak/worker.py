"""The soak's workers: each has filters of its own, and a model that predicts every answer.

A worker is the only one to touch its filters, so its model is exact. What a filter must answer is that of random
programs (program_items.Items): an item that was added is found, a present one answers 0 to an add, and BF.CARD is
the number of adds that answered 1. Once the filter was merged, intersected or imported, BF.CARD is the estimate
plus the adds since then. The same transaction
checks whether a key is still there; it may be gone only if it had a time to live or lived while the server
evicted keys. All workers also add to `shared` filters: each tracks its own items there, and all answers of
1 add up to BF.CARD.
"""

import collections
import random
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "server"))

from checks import FULL, GROWTH_FAILED, NO_MEMORY, dump  # noqa: E402  (the path must come first)
from program_items import Items  # noqa: E402
from resp import OK, ONE, ZERO, Connection, array, error  # noqa: E402

KINDS = [
    ("0.01", "100", "EXPANSION", "2"),
    ("0.001", "500", "EXPANSION", "2", "LAYOUT", "BLOCKED"),
    ("0.01", "4000", "NONSCALING"),
    ("0.02", "1000", "EXPANSION", "4", "HASH", "FNV1A"),
    ("BITSPERKEY", "12", "300", "EXPANSION", "3"),
    ("0.01", "40000", "EXPANSION", "2"),
    ("0.01", "20000", "NONSCALING", "LAYOUT", "BLOCKED"),
    TINY := ("0.1", "10", "EXPANSION", "1"),
]
MOST_ITEMS = 8000  # then a filter is dropped and begun anew
SHARED = ["shared:%d" % i for i in range(3)]
MANY_LAYERS = "ERR cannot export: it has more than one layer: BF.SCANDUMP carries any filter, or reserve it larger"


def named(reply):
    """BF.STATS as a dict."""
    flat = reply.plain
    return dict(zip(flat[::2], flat[1::2]))


class Fault(Exception):
    """The server gave a wrong answer."""


class Model:
    """What one key holds, as far as its worker knows: the filter (`held`), and whether it may be gone."""

    def __init__(self, key, kind):
        self.key, self.kind = key, kind
        self.forget()

    def forget(self):
        """As if the key were gone."""
        self.exists = self.may_be_gone = self.is_estimated = self.is_imported = False
        self.held = Items()

    @property
    def items(self):
        return list(self.held.items)

    @property
    def ones(self):
        """What BF.CARD must answer."""
        return self.held.ones

    @property
    def is_scaling(self):
        return "NONSCALING" not in self.kind

    @property
    def format(self):
        """Words of BF.EXPORT and BF.IMPORT."""
        return ("FORMAT", "parquet" if "BLOCKED" in self.kind else "portable")

    @property
    def own(self):
        """Words of BF.IMPORT for what the bytes do not have."""
        return [word for name in ("EXPANSION", "HASH") if name in self.kind for word in (name, self.kind[self.kind.index(name) + 1])]


class Worker(threading.Thread):
    def __init__(self, number, address, state):
        super().__init__(daemon=True)
        self.number, self.state = number, state
        self.random = random.Random(state.seed * 1000 + number)
        self.models = [Model("w%d:%d" % (number, i), kind) for i, kind in enumerate(KINDS)]
        self.shared = {key: Model(key, None) for key in SHARED}
        self.connection = Connection(address, timeout=120)
        self.call = self.connection.call
        self.count = 0  # of items ever made, so that none comes twice
        self.operations = self.checks = self.absent = self.false_positives = self.gone = self.refused = 0
        self.expected_positives = 0.0
        self.stated = self.stated_positives = 0  # as BF.STATS has it
        self.stated_expected = 0.0
        self.done = collections.Counter()
        self.problem = None

    # ---- running

    def run(self):
        try:
            while self.state.wait_for_turn():
                self.step()
        except Exception as problem:  # the conductor reports it
            self.problem = problem
            self.state.failed()

    def step(self):
        model = self.random.choice(self.models)
        if not model.exists:
            return self.create(model)
        if len(model.held.items) >= MOST_ITEMS:
            return self.drop(model)
        acts = [self.add] * 10 + [self.look_up] * 10 + [self.add_shared] * 4
        acts += [self.drop, self.expire, self.copy, self.reload_chunks, self.restore, self.rename]
        acts += [self.merge, self.merge, self.intersect, self.clear, self.export, self.export, self.statistics, self.statistics]
        act = self.random.choice(acts)
        act(model)

    def together(self, model, *commands, at_once=False):
        """The replies to a series about one filter, or None if memory was short and it was refused.

        Where the key may go at any time, or all must be done or nothing, the series is a transaction;
        the server refuses even to queue one when memory is used up. Otherwise it is a pipeline, in which
        reads still work."""
        self.operations += len(commands)
        if model.may_be_gone or at_once:
            replies = self.connection.pipeline([("MULTI",), *commands, ("EXEC",)])
            refusal = next((reply for reply in replies if reply.is_error), None)
            replies = replies[-1].value
        else:
            replies = self.connection.pipeline(commands)
            refusal = next((reply for reply in replies if reply.is_error and "OOM" in reply.value), None)
        if refusal:
            self.check(self.state.is_short and "OOM" in refusal.value, "%r: %r", commands[-1][:2], refusal)
            self.refused += 1
            return None
        return replies

    def check(self, claim, text, *words):
        self.checks += 1
        if not claim:
            raise Fault("worker %d: %s" % (self.number, text % words))

    def is_there(self, model, reply):
        """Whether the key is there; if not, whether it may be gone."""
        if reply.value == 1:
            return True
        self.check(model.may_be_gone, "%s is gone", model.key)
        self.gone += 1
        model.forget()
        return False

    # ---- what is done to a filter

    def create(self, model):
        reply = self.call("BF.RESERVE", model.key, *model.kind)
        self.operations += 1
        if reply.is_error:
            short = reply.value.startswith("OOM") or reply == error(NO_MEMORY)
            self.check(self.state.is_short and short, "BF.RESERVE %s: %r", model.key, reply)
            self.refused += 1
            return
        model.exists, model.may_be_gone = True, self.state.is_evicting

    def fresh(self, count):
        self.count += count
        return ["%d-%d" % (self.number, i) for i in range(self.count - count, self.count)]

    def absent_items(self):
        return ["absent-%d-%d" % (self.number, self.random.getrandbits(60)) for _ in range(20)]

    def some(self, model, count):
        items = model.items
        return self.random.sample(items, min(count, len(items)))

    def add(self, model):
        known, new = self.some(model, 5), self.fresh(self.random.choice([1, 1, 7, 60, 200]))
        words = ("BF.MADD", model.key) if self.random.random() < 0.5 else ("BF.INSERT", model.key, "NOCREATE", "ITEMS")
        replies = self.together(model, ("EXISTS", model.key), (*words, *known, *new))
        if replies is None:
            return
        if replies[0].value == 0:
            self.is_there(model, replies[0])  # BF.MADD has made another of that name
            self.call("DEL", model.key)
            return
        answers = replies[1]
        self.check(answers.kind == "*", "%s: %r", model.key, answers)
        self.learn(model, known + new, answers.value)
        stopped = answers.value and answers.value[-1] == error(FULL)
        self.check(stopped or len(answers.value) == len(known + new), "%s: %d answers", model.key, len(answers.value))

    def learn(self, model, items, answers):
        """Takes the answers to adding items."""
        for item, answer in zip(items, answers):
            if answer.is_error:
                is_full = answer == error(FULL) and not model.is_scaling
                no_room = answer == error(GROWTH_FAILED) and self.state.is_short
                self.check(is_full or no_room, "%s: %r", model.key, answer)
                self.check(item not in model.held.items, "%s: known %s answers %r", model.key, item, answer)
            else:
                self.check(answer in (ZERO, ONE), "%s: %r", model.key, answer)
                self.check_fault(model, model.held.add(item, answer == ONE, now_ms=0))

    def check_fault(self, model, fault):
        self.check(not fault, "%s: %s", model.key, fault)

    def look_up(self, model, count=100):
        known, absent = self.some(model, count), self.absent_items()
        replies = self.together(
            model, ("EXISTS", model.key), ("BF.MEXISTS", model.key, *known, *absent), ("BF.CARD", model.key), ("BF.INFO", model.key)
        )
        if replies is None or not self.is_there(model, replies[0]):
            return
        answers = replies[1].plain
        self.checks += len(answers)
        missing = [item for item, answer in zip(known, answers) if not answer]
        self.check(not missing, "%s lost %s", model.key, missing[:3])
        self.check_fault(model, model.held.card(replies[2].value))
        self.check(replies[3].value[7].value == model.ones, "%s: BF.INFO %r", model.key, replies[3])
        if model.is_estimated:  # it may hold more than was promised: see statistics
            return
        self.absent += len(absent)
        self.false_positives += sum(answers[len(known) :])
        self.expected_positives += len(absent) * (0.0031 if model.kind[0] == "BITSPERKEY" else float(model.kind[0]))

    def add_shared(self, _):
        if self.state.is_evicting:
            return
        mine = self.shared[self.random.choice(SHARED)]
        new = self.fresh(20)
        replies = self.together(mine, ("BF.INSERT", mine.key, "NOCREATE", "ITEMS", *new), ("BF.MEXISTS", mine.key, *self.some(mine, 50)) if mine.held.items else ("PING",))
        if replies is None:
            return
        self.learn(mine, new, replies[0].value)
        if mine.held.items and replies[1].kind == "*":
            self.check(0 not in replies[1].plain, "%s lost an item", mine.key)

    def drop(self, model):
        reply = self.call(self.random.choice(["DEL", "UNLINK"]), model.key)
        if self.is_there(model, reply):
            model.forget()

    def expire(self, model):
        model.may_be_gone = True
        reply = self.call("PEXPIRE", model.key, self.random.randrange(1, 3000))
        self.is_there(model, reply)

    def rename(self, model):
        """A copy takes the place of the original."""
        name = model.key + ":tmp"
        replies = self.together(model, ("EXISTS", model.key), ("COPY", model.key, name, "REPLACE"))
        if replies is None or not self.is_there(model, replies[0]):
            return
        self.check(replies[1] == ONE, "COPY of %s: %r", model.key, replies[1])
        reply = self.call("RENAME", name, model.key)
        if reply != OK:  # evicted or expired in between
            self.check(model.may_be_gone, "RENAME of %s: %r", model.key, reply)

    # Three ways to make the same filter again under another name.

    def copy(self, model):
        self.twin(model, lambda: [("COPY", model.key, model.key + ":twin")])

    def reload_chunks(self, model):
        try:
            pieces = dump(self.call, model.key)
        except AssertionError:  # gone: not found
            return self.look_up(model)
        self.twin(model, lambda: [("BF.LOADCHUNK", model.key + ":twin", i, data) for i, data in pieces])

    def restore(self, model):
        reply = self.call("DUMP", model.key)
        if reply.value is None:
            return self.look_up(model)
        self.twin(model, lambda: [("RESTORE", model.key + ":twin", 0, reply.value)])

    def twin(self, model, commands):
        """The copy has the same digest, which includes the time to live; then the copy is deleted."""
        names = (model.key, model.key + ":twin")
        replies = self.together(model, ("EXISTS", names[0]), ("PERSIST", names[0]), *commands(), ("DEBUG", "DIGEST-VALUE", *names), ("UNLINK", names[1]))
        if replies is None or not self.is_there(model, replies[0]):
            self.call("DEL", names[1])
            return
        self.check(not any(reply.is_error for reply in replies), "%s: %r", model.key, replies[1])
        one, other = replies[-2].plain
        self.check(one == other, "%s: its twin is another", model.key)

    # ---- filters measured, combined, emptied, exported and imported

    def statistics(self, model):
        """BF.STATS agrees with BF.INFO and the model; its error rates, all together, with what is answered."""
        absent = self.absent_items()
        replies = self.together(
            model, ("EXISTS", model.key), ("BF.STATS", model.key), ("BF.INFO", model.key), ("BF.MEXISTS", model.key, *absent)
        )
        if replies is None or not self.is_there(model, replies[0]):
            return
        seen = named(replies[1])
        layers = [dict(zip(layer[::2], layer[1::2])) for layer in seen["layers"]]
        capacity, size, nlayers, items, expansion = replies[2].plain[1::2]
        said = [seen["capacity"], seen["bytes"], len(layers), seen["items"], seen["expansion"]]
        self.check(said == [capacity, size, nlayers, items, expansion], "%s: BF.STATS %r, BF.INFO %r", model.key, seen, replies[2])
        self.check(items == model.ones, "%s: BF.STATS has %d items, not %d", model.key, items, model.ones)
        self.check(seen["items are estimated"] == model.is_estimated, "%s: %r", model.key, seen)
        for name in ("items", "capacity"):
            self.check(sum(layer[name] for layer in layers) == seen[name], "%s: %s of its layers: %r", model.key, name, seen)
        usual = b"full" if not model.is_scaling and items >= capacity else b"ok"
        if usual == b"ok" and len(seen["layers"]) > 16:
            usual = b"many layers"
        overfilled = seen["state"] == b"overfilled" and model.is_estimated
        self.check(seen["state"] == usual or overfilled, "%s: %r", model.key, seen)
        if model.kind != TINY:
            self.stated += len(absent)
            self.stated_positives += sum(replies[3].plain)
            self.stated_expected += len(absent) * float(seen["current error rate"])
        self.done["statistics"] += 1

    def is_refused(self, *replies):
        """Whether the module found no memory for one of these; it may not while there is no limit."""
        no_room = error(NO_MEMORY) in replies
        self.check(not no_room or self.state.is_short, "%r", replies)
        self.refused += no_room
        return no_room

    def estimate(self, model, stats):
        """The count becomes the estimate from the bits, rounded in each layer."""
        seen = named(stats)
        off = abs(seen["items"] - seen["estimated items"])
        self.check(off <= len(seen["layers"]), "%s: %r", model.key, seen)
        self.check(seen["items are estimated"] or seen["items"] == 0, "%s: %r", model.key, seen)
        model.held.ones, model.is_estimated = seen["items"], bool(seen["items are estimated"])

    def part(self, model, items):
        """The commands that make another filter of that kind."""
        name = model.key + ":part"
        return [("BF.RESERVE", name, *model.kind), ("BF.INSERT", name, "NOCREATE", "ITEMS", *items)]

    def merge(self, model):
        """New items are merged from another filter; `twin` gets them by adds, and has the same bits."""
        old, new = self.some(model, 5), self.fresh(self.random.choice([1, 30, 200]))
        names = part, twin = model.key + ":part", model.key + ":twin"
        digest = ("DEBUG", "DIGEST-VALUE", model.key)
        replies = self.together(
            model, ("EXISTS", model.key), ("COPY", model.key, twin), *self.part(model, old + new), digest, ("BF.MERGE", model.key, part),
            digest, ("BF.STATS", model.key), ("BF.MERGE", model.key, part, model.key), digest, ("BF.MEXISTS", model.key, *old, *new),
            ("BF.INSERT", twin, "NOCREATE", "ITEMS", *new), ("BF.EXPORT", model.key, *model.format), ("BF.EXPORT", twin, *model.format),
            ("UNLINK", *names), at_once=True,
        )  # fmt: skip
        if replies is None or not self.is_there(model, replies[0]):
            self.call("UNLINK", *names)  # it has become the part alone
            return self.call("UNLINK", model.key) if replies else None
        _, _, reserved, inserted, before, merged, after, stats, again, twice, found, added, one, other, _ = replies
        if self.is_refused(reserved, merged):
            return
        if merged.is_error and model.is_imported:  # it grows by other rules
            return self.check(merged.value.startswith("ERR cannot merge source 1: its layer"), "%s: %r", model.key, merged)
        self.check(merged == again == OK, "BF.MERGE of %s: %r, %r", model.key, merged, again)
        self.check(after == twice, "%s: the same merge changed it again", model.key)
        taken = self.taken(model, new, inserted.value[len(old) :])
        self.check(0 not in found.plain[: len(old)], "%s lost items in a merge", model.key)
        lost = [item for item, answer in zip(new, found.plain[len(old) :]) if item in taken and not answer]
        self.check(not lost, "%s: %s did not come in by a merge", model.key, lost[:3])
        ones = model.held.ones
        model.held.unite(Items(taken))
        model.held.ones = ones
        if before != after:
            self.estimate(model, stats)
        if one.kind == other.kind == "$" and len(taken) == len(self.taken(model, new, added.value)) == len(new):
            self.check(one == other, "%s: a merge gives other bits than adds", model.key)
            self.done["merges as adds"] += 1
        self.done["merges"] += 1

    def taken(self, model, items, answers):
        """The items that were added; only expected errors may occur."""
        errors = [answer for answer in answers if answer.is_error]
        allowed = [error(FULL)] * (not model.is_scaling) + [error(GROWTH_FAILED)] * self.state.is_short
        self.check(all(answer in allowed for answer in errors), "%s: %r", model.key, errors)
        return [item for item, answer in zip(items, answers) if not answer.is_error]

    def intersect(self, model):
        """The intersection of two filters replaces one of them: it answers 1 where both did."""
        common, new = self.some(model, self.random.choice([5, 50, 500])), self.fresh(20)
        part, queried = model.key + ":part", [*common, *new, *self.some(model, 50), *self.absent_items()]
        replies = self.together(
            model, ("EXISTS", model.key), *self.part(model, common + new), ("BF.INFO", model.key, "FILTERS"), ("BF.INFO", part, "FILTERS"),
            ("BF.MEXISTS", model.key, *queried), ("BF.MEXISTS", part, *queried), ("BF.INTERSTORE", part, model.key, part),
            ("BF.MEXISTS", part, *queried), ("BF.STATS", part), ("BF.INTERSTORE", model.key + ":none", part, model.key + ":nothing"),
            ("EXISTS", model.key + ":none"), at_once=True,
        )  # fmt: skip
        if replies is None or not self.is_there(model, replies[0]):
            return self.call("UNLINK", part)
        _, reserved, inserted, mine, its, here, there, stored, both, stats, none, nothing = replies
        if self.is_refused(reserved, stored):
            return self.call("UNLINK", part)
        layers = [mine.plain[0], its.plain[0]]
        if layers != [1, 1]:
            which = 1 if layers[0] > 1 else 2
            start = "ERR cannot intersect source %d: it has %d layers" % (which, layers[which - 1])
            self.check(stored.is_error and stored.value.startswith(start), "%s: %r", model.key, stored)
            return self.call("UNLINK", part)
        self.check(stored == OK, "BF.INTERSTORE of %s: %r", model.key, stored)
        self.check(none == OK and nothing == ZERO, "BF.INTERSTORE with a missing source: %r, %r", none, nothing)
        self.check(both.plain == [a and b for a, b in zip(here.plain, there.plain)], "%s: not what both have in common", model.key)
        taken = self.taken(model, common, inserted.value)
        self.replace(model, part, taken, stats)
        self.done["intersections"] += 1

    def replace(self, model, name, items, stats):
        """Another filter replaces the model's, and has these of its items."""
        reply = self.call("RENAME", name, model.key)
        if reply != OK:  # evicted in between
            return self.check(model.may_be_gone, "RENAME of %s: %r", name, reply)
        model.held = Items(items)
        return self.estimate(model, stats)

    def clear(self, model):
        known = self.some(model, 200)
        replies = self.together(
            model, ("EXISTS", model.key), ("BF.CLEAR", model.key), ("BF.MEXISTS", model.key, *known, "x"), ("BF.CARD", model.key), ("BF.INFO", model.key, "FILTERS")
        )
        if replies is None or not self.is_there(model, replies[0]):
            return
        if self.is_refused(replies[1]):
            return
        self.check(replies[1] == OK, "BF.CLEAR %s: %r", model.key, replies[1])
        self.check(not any(replies[2].plain), "%s has items after BF.CLEAR", model.key)
        self.check(replies[3] == ZERO and replies[4] == array(ONE), "%s after BF.CLEAR: %r, %r", model.key, replies[3], replies[4])
        model.held, model.is_estimated = model.held.emptied(), False
        self.done["clears"] += 1

    def export(self, model):
        """An export, imported again over the original, gives the same bytes and answers."""
        replies = self.together(model, ("EXISTS", model.key), ("BF.EXPORT", model.key, *model.format), ("BF.INFO", model.key))
        if replies is None or not self.is_there(model, replies[0]):
            return
        capacity, _, layers = replies[2].plain[1:6:2]
        if layers > 1:
            return self.check(replies[1] == error(MANY_LAYERS), "BF.EXPORT of %s: %r", model.key, replies[1])
        data, twin = replies[1].plain, model.key + ":twin"
        words = ("BF.IMPORT", twin, *model.format, "CAPACITY", capacity, *model.own, "REPLACE", "DATA", data)
        queried = self.some(model, 100) + self.absent_items()
        replies = self.together(
            model, ("EXISTS", model.key), words, words, ("BF.MEXISTS", model.key, *queried), ("BF.MEXISTS", twin, *queried),
            ("BF.EXPORT", twin, *model.format), ("BF.STATS", twin), at_once=True,
        )  # fmt: skip
        if replies is None or not self.is_there(model, replies[0]) or self.is_refused(*replies[1:3]):
            return self.call("UNLINK", twin)
        self.check(replies[1] == replies[2] == OK, "BF.IMPORT of %s: %r, %r", model.key, replies[1], replies[2])
        self.check(replies[3] == replies[4], "%s answers otherwise once it was imported", model.key)
        self.check(replies[5].value == data, "%s: other bytes go out than came in", model.key)
        self.replace(model, twin, model.items, replies[6])
        model.is_imported = True
        self.done["imports"] += 1

    # ---- while all rest

    def set_at_risk(self):
        for model in self.models:
            model.may_be_gone = model.may_be_gone or model.exists

    def audit(self, address=None):
        """Looks up every item of every filter, here or on the replica. Filters with a TTL are dropped."""
        for model in self.models:
            if not model.exists:
                continue
            if address is None:
                self.call("PERSIST", model.key)
                self.look_up(model, count=len(model.items))
                model.may_be_gone = False
            else:
                self.look_up_on_replica(model, address)

    def look_up_on_replica(self, model, address):
        connection = Connection(address, timeout=120)
        answers = connection.call("BF.MEXISTS", model.key, *model.items).plain if model.items else []
        card = connection.call("BF.CARD", model.key)
        connection.close()
        self.checks += len(answers)
        self.check(0 not in answers, "the replica lost items of %s", model.key)
        self.check(card.value == model.ones, "the replica: BF.CARD of %s", model.key)

    def do_everything(self):
        """Does everything to each of its filters; none of them exists before or after."""
        for model in self.models:
            for act in (self.create, self.add, self.merge, self.intersect, self.add, self.export, self.copy, self.reload_chunks, self.restore,
                        self.rename, self.merge, self.look_up, self.statistics, self.clear, self.add, self.add, self.clear, self.drop):  # fmt: skip
                act(model)

    def reconnect(self, address):
        self.connection.close()
        self.connection = Connection(address, timeout=120)
        self.call = self.connection.call

    def forget_all(self):
        for model in [*self.models, *self.shared.values()]:
            model.forget()
