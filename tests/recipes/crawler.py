"""A crawler that never visits a URL twice.

    crawler.py http://localhost:8000/        start as many as you like: they share queue and filter

BF.ADD answers 1 to exactly one caller per URL, so the one that gets the 1 puts it into the queue: no
lock, and 2.5 bytes a URL at this error rate, however long the URLs. A false positive is a page that is
never visited, so the error rate is small. The filter grows: nobody knows the web's size.
"""
import os
import sys
import urllib.error
import urllib.parse
import urllib.request
from html.parser import HTMLParser

import redis

r = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://localhost:6379"), decode_responses=True)


class Links(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.page, self.found = page, []

    def handle_starttag(self, tag, attrs):
        link = dict(attrs).get("href") if tag == "a" else None
        if link:  # absolute, and without the fragment: the same page
            self.found.append(urllib.parse.urldefrag(urllib.parse.urljoin(self.page, link)).url)


def offer(site, urls):
    """Queues the URLs nobody has seen before."""
    urls = [url for url in dict.fromkeys(urls) if url.startswith(site)]
    if not urls:
        return
    is_new = r.bf().insert("seen:" + site, urls, capacity=100_000, error=0.0001)
    new = [url for url, first in zip(urls, is_new) if first]
    if new:
        r.rpush("queue:" + site, *new)


def crawl(site):
    offer(site, [site])
    while url := r.lpop("queue:" + site):
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                links = Links(url)
                links.feed(answer.read().decode(errors="replace"))
                offer(site, links.found)
                print("visited", url, flush=True)
        except urllib.error.URLError as problem:
            print("failed", url, problem, flush=True)


if __name__ == "__main__":
    crawl(sys.argv[1])
