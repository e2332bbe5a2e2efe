"""What run.py and libraries.py share: the server's answers, and comparing them."""
from languages import Failed

BATCH = 1000  # items per command


def mexists(connection, key, items):
    return [answer for i in range(0, len(items), BATCH)
            for answer in connection.call("BF.MEXISTS", key, *items[i:i + BATCH]).plain]


def madd(connection, key, items):
    for i in range(0, len(items), BATCH):
        connection.call("BF.MADD", key, *items[i:i + BATCH]).plain  # an error is raised


def compare(what, got, expected):
    if len(got) != len(expected):
        raise Failed(f"{what}: {len(got)} instead of {len(expected)}")
    wrong = [i for i, (one, other) in enumerate(zip(got, expected)) if one != other]
    if wrong:
        raise Failed(f"{what}: {len(wrong)} of {len(expected)} differ, the first at {wrong[0]}")
