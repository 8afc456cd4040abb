#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_look.py [FOLDER] [--accept]: light and dark, contrast, nothing cut off at 1280x720, everything named for a screen
reader, the map and the timeline as in reference.json (coarse, with tolerance). Leaves its pictures in FOLDER; --accept
writes reference.json anew."""

import json
import pathlib
import struct
import sys
import zlib

from browser import check, gemm, in_folder, opened, same, settle

ACCEPT = "--accept" in sys.argv
FOLDERS = [a for a in sys.argv[1:] if a != "--accept"]
PICTURES = pathlib.Path(FOLDERS[0] if FOLDERS else ".") / "pictures"
REFERENCE = pathlib.Path(__file__).parent / "reference.json"
GRID = (40, 16)  # a picture is compared by the mean colours of so many cells


def pixels(png):
    """(width, height, rows of RGB or RGBA bytes, bytes a pixel) of a PNG, by the letter of its filters."""
    at, data, width, height, size = 8, b"", 0, 0, 3
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        body = png[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", body[:10])
            size = {2: 3, 6: 4}[colour]
        elif kind == b"IDAT":
            data += body
        at += length + 12
    raw, stride, rows, last = zlib.decompress(data), width * size, [], bytes(width * size)
    for y in range(height):
        kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1 : (y + 1) * (stride + 1)])
        for x in range(stride):
            a, b, c = (line[x - size] if x >= size else 0), last[x], (last[x - size] if x >= size else 0)
            if kind == 1:
                line[x] = (line[x] + a) & 255
            elif kind == 2:
                line[x] = (line[x] + b) & 255
            elif kind == 3:
                line[x] = (line[x] + (a + b) // 2) & 255
            elif kind == 4:
                p = a + b - c
                line[x] = (line[x] + min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]) & 255
        rows.append(bytes(line))
        last = line
    return width, height, rows, size


def coarse(picture):
    """The mean colour of each cell of GRID, as [r, g, b] by lines of cells."""
    width, height, rows, size = picture
    cells = []
    for j in range(GRID[1]):
        lines = rows[j * height // GRID[1] : (j + 1) * height // GRID[1]]
        for i in range(GRID[0]):
            a, b = i * width // GRID[0] * size, (i + 1) * width // GRID[0] * size
            count = len(lines) * (b - a) // size
            cells.append([sum(sum(line[a + k : b : size]) for line in lines) // count for k in range(3)])
    return cells


def compare(name, picture, references):
    """At most one cell in fifty may be off by more than 20 of 255 in a colour: another font's letters, not another picture."""
    cells = coarse(picture)
    if ACCEPT:
        references[name] = "".join("%02x" % v for cell in cells for v in cell)
        return
    data = bytes.fromhex(references[name])
    off = [i for i, cell in enumerate(cells) if max(abs(v - data[3 * i + k]) for k, v in enumerate(cell)) > 20]
    check(
        len(off) <= len(cells) // 50,
        "%s: %d of %d cells look different (pictures in %s)" % (name, len(off), len(cells), PICTURES),
    )


def colours(picture):
    """How many colours fill at least a thousandth of a picture each."""
    width, height, rows, size = picture
    counts = {}
    for row in rows:
        for x in range(0, len(row), size):
            pixel = row[x : x + 3]
            counts[pixel] = counts.get(pixel, 0) + 1
    return sum(1 for n in counts.values() if n > width * height / 1000)


CONTRAST = """() => {
  const style = getComputedStyle(document.documentElement);
  const part = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = (name) => {
    const hex = style.getPropertyValue('--' + name).trim();
    const [r, g, b] = [1, 3, 5].map((i) => part(parseInt(hex.slice(i, i + 2), 16) / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const pairs = [['ink', 'panel'], ['ink-soft', 'panel'], ['ink-faint', 'panel'], ['ink-soft', 'group'],
    ['ink-faint', 'hover'], ['warn', 'warn-ground'], ['select', 'panel']];
  return pairs.map(([a, b]) => {
    const [high, low] = [light(a), light(b)].sort((p, q) => q - p);
    return [a, b, (high + 0.05) / (low + 0.05)];
  });
}"""

UNNAMED = """() => [...document.querySelectorAll('button, input, select, canvas, [role]')]
  .filter((e) => e.offsetParent !== null && !e.closest('[aria-hidden=true]'))
  .filter((e) => !(e.textContent.trim() || e.ariaLabel || e.title || e.labels?.length || e.getAttribute('aria-labelledby')))
  .map((e) => e.outerHTML.slice(0, 90))"""

# Elements whose text is cut though nothing says so.
CUT = """() => [...document.querySelectorAll('#bar button, #side h2, #side th, #side td.n, #tabs button, #status-hint')]
  .filter((e) => !e.closest('.longest'))
  .filter((e) => {
    const box = e.getBoundingClientRect(), outside = box.right > innerWidth + 1 || box.bottom > innerHeight + 1;
    return box.width > 0 && (outside || e.scrollWidth > e.clientWidth + 2);
  })
  .map((e) => e.outerHTML.slice(0, 90))"""


# The widest numbers that format.js makes, in every row of the two tables of figures, under names that are long.
WIDEST = """() => {
  const fill = (section, texts) => document.querySelectorAll(`${section} tbody tr`).forEach((row) => {
    row.querySelectorAll('td.n').forEach((cell, i) => { (cell.querySelector('.over') ?? cell).textContent = texts[i]; });
    const name = row.querySelector('td.name');
    (name.querySelector('button') ?? name).append('_of_a_name_that_does_not_fit');
  });
  fill('#names-section', ['999,999', '888.8 ms', '888.8 ms', '888.8 ms', '888.8 ms', '888.8 ms']);
  fill('#launches-section', ['+888.8 ms', '888.8 ms', '888,888', '888.8 ms', '888.8 ms']);
  document.querySelectorAll('#launches-section td:first-child button').forEach((e) => { e.textContent = 'graph_…0 #0'; });
  return [...document.querySelectorAll('#names-section .scroll, #launches-section .scroll, .launches td:first-child')]
    .filter((e) => e.scrollWidth > e.clientWidth).map((e) => [e.clientWidth, e.scrollWidth]);
}"""


def look(folder, width, height, dark, references):
    with opened(folder, "t.html", width=width, height=height, dark=dark) as page:
        theme = "dark" if dark else "light"
        name = "%s-%dx%d" % (theme, width, height)
        same(page.evaluate("document.documentElement.dataset.theme"), theme, "theme")
        for a, b, ratio in page.evaluate(CONTRAST):
            check(ratio >= 4.5, "%s: contrast of %s on %s is %.2f" % (name, a, b, ratio))
        same(
            page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"),
            [width, height],
            name + ": the page does not scroll",
        )
        same(page.evaluate(CUT), [], name + ": cut off")
        same(page.evaluate(UNNAMED), [], name + ": without a name")
        for part in ("heat", "timeline"):
            picture = pixels(page.locator("#" + part).screenshot())
            check(colours(picture) >= 5, "%s: colours of the %s" % (name, part))
            compare("%s-%s" % (name, part), picture, references)
        page.screenshot(path=PICTURES / (name + ".png"))
        line = page.evaluate("iket.placeOfSm(12)")
        page.mouse.click(line["x"] + 200, line["y"] + 1)
        page.mouse.move(line["x"] + 300, height - 120)
        settle(page)
        page.screenshot(path=PICTURES / (name + "-warps.png"))
        page.keyboard.press("t")
        same(page.evaluate("document.documentElement.dataset.theme"), "light" if dark else "dark", "theme after T")
        page.reload()
        settle(page)
        same(
            page.evaluate("document.documentElement.dataset.theme"), "light" if dark else "dark", "theme is remembered"
        )
        same(page.evaluate(WIDEST), [], name + ": tables wider than their room with the widest numbers")
        same(page.evaluate(CUT), [], name + ": cut off with the widest numbers")
        page.screenshot(path=PICTURES / (name + "-widest.png"))


def test(folder):
    PICTURES.mkdir(parents=True, exist_ok=True)
    gemm(folder)
    references = json.loads(REFERENCE.read_text()) if REFERENCE.exists() else {}
    look(folder, 1280, 720, False, references)
    look(folder, 1600, 1000, True, references)
    if ACCEPT:
        REFERENCE.write_text(json.dumps(references, indent=0) + "\n")


in_folder(test)
