"""The picture of the README: the page's calculator and viewer, as a browser shows them.

    screenshot.py build/page/index.html module/docs/page.png

`make screenshot` builds the page first. The viewer shows the page's own example. The palette is cut
to 256 colours if pngquant is there, which makes the file a third as large.
"""
import base64
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

import chromium

# Both sections side by side, and the place to drop a file left out: a README has little height.
WIDTH = 1700
SIDE_BY_SIDE = """
.bar, #drop, footer { display: none }
.wrap { max-width: none }
main { display: grid; grid-template-columns: 1.42fr 1fr; gap: 2.5rem; padding: 1.75rem !important }
#calculator .tiles { grid-template-columns: 1fr 1fr }
.tiles > div { min-height: 6.5rem }
section { margin: 0 !important; padding: 0 !important; border: 0 !important }
"""


def open_browser(profile):
    options = webdriver.ChromeOptions()
    options.binary_location = chromium.find()
    for flag in chromium.flags(profile):
        options.add_argument(flag)
    return webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)


def show_example(driver):
    driver.execute_script("document.getElementById('example').click()")
    WebDriverWait(driver, 20).until(lambda _: driver.find_element(By.ID, "view").is_displayed())


def capture(driver):
    """The whole page as PNG, without its footer."""
    height = driver.execute_script("return document.querySelector('main').getBoundingClientRect().bottom + scrollY")
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": height, "scale": 1}
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
    return base64.b64decode(shot["data"])


def main(page, picture):
    with tempfile.TemporaryDirectory() as profile:
        driver = open_browser(profile)
        try:
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                   {"width": WIDTH, "height": 900, "deviceScaleFactor": 1, "mobile": False})
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                   {"features": [{"name": "prefers-color-scheme", "value": "light"}]})
            driver.get(Path(page).resolve().as_uri())
            driver.execute_script("document.head.insertAdjacentHTML('beforeend', `<style>${arguments[0]}</style>`)",
                                  SIDE_BY_SIDE)
            show_example(driver)
            Path(picture).write_bytes(capture(driver))
        finally:
            driver.quit()
    if shutil.which("pngquant"):
        subprocess.run(["pngquant", "--force", "--strip", "--output", picture, "256", picture], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
