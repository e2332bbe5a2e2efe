"""Deduplicates a Kafka topic: each message is handled, and one that comes again is not.

Producers that retry and consumers that restart deliver messages twice. Here a message's key is its id, a
UUID. A polled batch is looked up by one BF.BULKEXISTS; what is new is handled, then added by one BF.BULKADD,
and then the batch is committed. In this order a crash can repeat the batch that it interrupts, and loses
nothing. The ids are forgotten after a week (WINDOW). A false positive is a message that is not handled: one
in a million at most. If that is too many, look such a message up in your database instead of skipping it.

Kafka gives all messages of a key to one consumer of a group, so several consumers can share the filter.

`python dedup_topic.py` needs no Kafka: lists stand in for what a consumer polls. With confluent-kafka:

    consumer = Consumer({"group.id": "billing", "enable.auto.commit": False, ...})
    consumer.subscribe(["payments"])
    deduplicate(polled(consumer), handle, lambda: consumer.commit(asynchronous=False))
"""
import os
import uuid

import redis

r = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://localhost:6379"))
KEY = "handled"
PIECE = 10_000  # messages of a batch at most: the server answers others in between
WEEK = 7 * 86400


def reserve(per_week):
    try:
        r.execute_command("BF.RESERVE", KEY, 0.000001, per_week, "WINDOW", WEEK)
    except redis.ResponseError as problem:
        if "exists" not in str(problem):
            raise


def polled(consumer):
    """Batches of (key, value), without end."""
    while True:
        messages = consumer.consume(PIECE, timeout=1.0)
        yield [(message.key(), message.value()) for message in messages if not message.error()]


def are_handled(ids):
    """For each id of 16 bytes: was it handled before?"""
    bits = r.execute_command("BF.BULKEXISTS", KEY, "WIDTH", 16, b"".join(ids))
    return [bits[i >> 3] & 0x80 >> (i & 7) != 0 for i in range(len(ids))]


def deduplicate(batches, handle, commit):
    for batch in batches:
        messages = {}
        for key, value in batch:  # the first one, if an id is in the batch twice
            messages.setdefault(uuid.UUID(key.decode()).bytes, value)
        ids = list(messages)
        new = [one for one, handled in zip(ids, are_handled(ids)) if not handled]
        for one in new:
            handle(messages[one])
        if new:
            r.execute_command("BF.BULKADD", KEY, "WIDTH", 16, b"".join(new))
        commit()


class Topic:
    """A list in place of a topic: polls go on from the last commit, as after a restart."""

    def __init__(self, messages):
        self.messages, self.committed, self.position = messages, 0, 0

    def batches(self):
        self.position = self.committed
        while self.position < len(self.messages):
            batch = self.messages[self.position:self.position + PIECE]
            self.position += len(batch)
            yield batch

    def commit(self):
        self.committed = self.position


def sent_with_repeats(count, later=3_000):
    """Message numbers as a topic has them: every fifth is sent again, 3,000 messages later."""
    for i in range(count):
        yield i
        if i % 5 == 0 and i >= later:
            yield i - later


def demo(count=40_000, crash_at=15_000):
    """The consumer crashes once, in the middle of a batch."""
    def key(i):
        return str(uuid.uuid5(uuid.UUID(int=0), str(i))).encode()

    topic = Topic([(key(i), i) for i in sent_with_repeats(count)])
    handled = [0] * count

    def handle(number, crashes):
        if crashes and number == crash_at:
            raise InterruptedError
        handled[number] += 1

    try:
        deduplicate(topic.batches(), lambda number: handle(number, True), topic.commit)
    except InterruptedError:
        print(f"crashed at message {crash_at}, restarted at {topic.committed}")
    deduplicate(topic.batches(), lambda number: handle(number, False), topic.commit)
    print(f"{len(topic.messages)} messages, {sum(n > 0 for n in handled)} of {count} ids handled, "
          f"{sum(n > 1 for n in handled)} of them twice, by the crash")


if __name__ == "__main__":
    reserve(1_000_000)
    demo()
