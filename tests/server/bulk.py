"""BF.BULKEXISTS and BF.BULKADD in plain Python: how data is cut into items, and what a bitmap says.

    cut             the items of data, from a command's words after the key
    lines           items as data for LINES; no item may have a newline
    answers_of      a bitmap as a list of 1 and 0
"""


def lines(items):
    return b"".join(item + b"\n" for item in items)


def cut(words):
    """`words` are WIDTH n data, or LINES data, all of them bytes."""
    data = words[-1]
    if words[0].upper() == b"WIDTH":
        width = int(words[1])
        return [data[at : at + width] for at in range(0, len(data), width)]
    items = data.split(b"\n")
    return items[:-1] if items[-1] == b"" else items  # a last newline ends the last item


def answers_of(bitmap, count):
    """The first bit is 0x80 of the first byte; there are no more bytes than needed, and unused bits are 0."""
    assert len(bitmap) == (count + 7) // 8
    bits = [byte >> (7 - i) & 1 for byte in bitmap for i in range(8)]
    assert not any(bits[count:])
    return bits[:count]
