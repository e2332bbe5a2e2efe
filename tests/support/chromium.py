"""Where Chromium is and how it starts headless, for every test that needs a browser."""
import os
import shutil


def find():
    """The program, or None."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


def flags(profile):
    """Headless, with a profile of its own, and without the traffic of its own."""
    words = ["--headless", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage", "--disable-quic",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             f"--user-data-dir={profile}"]
    return words + (["--no-sandbox"] if os.geteuid() == 0 else [])
