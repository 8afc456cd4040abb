// SPDX-License-Identifier: Apache-2.0
// strips.js: pictures of what the warps of many rows do over time, made elsewhere while the last one is shown.
//
// A group is a set of rows that are asked for together. Its picture covers somewhat more than the view, so that a pan
// moves the picture and nothing is computed; a zoom stretches it until the sharper one arrives. So a frame costs one
// drawImage a row, however many events there are.
'use strict';

const STRIP_CATEGORIES = 16;

class StripGroup {
  constructor(ask, paint) {
    this.ask = ask;     // (rows, from, to, bins, answer)
    this.paint = paint; // ({rows, bytes, peaks, bins}) -> canvas
    this.shown = null;  // {keys: Map(key -> index), from, to, bins, bytes, peaks, canvas, rows}
    this.busy = false;
    this.next = null;
    this.turn = 0;
  }

  // Asks for what the view needs, unless what is shown or on its way covers it. rows: [{key, ranges: [[node, node, shift]]}]
  want(rows, view) {
    if (rows.length === 0) return;
    const bins = Math.ceil(view.width * 1.5), length = view.to - view.from;
    const covers = (s) => s && s.bins === bins && s.from <= view.from && s.to >= view.to
      && Math.abs((s.to - s.from) / (length * 1.5) - 1) < 1e-6 &&
      rows.every((r) => s.keys.has(r.key));
    if (covers(this.shown) && !this.busy) return;
    const wanted = { rows, keys: new Map(rows.map((r, i) => [r.key, i])), from: view.from - length / 4, to: view.to
      + length / 4, bins };
    if (this.busy) {
      if (!covers(this.flying)) this.next = wanted;
      else this.next = null;
      return;
    }
    this.send(wanted);
  }

  send(wanted) {
    this.busy = true;
    this.flying = wanted;
    const { turn } = this;
    this.ask(wanted.rows, wanted.from, wanted.to, wanted.bins, ({ bytes, peaks }) => {
      this.busy = false;
      if (turn === this.turn) {
        this.shown = { ...wanted, bytes, peaks };
        this.repaint();
      }
      const next = this.next;
      this.next = null;
      if (next) this.send(next);
    });
  }

  repaint() {
    if (this.shown) this.shown.canvas = this.paint(this.shown);
  }

  forget() {
    this.turn++; // what is on its way is of no use
    this.shown = null;
    this.next = null;
  }

  // Draws the row of `key` into a box of the time axis.
  draw(context, key, view, y, height) {
    const s = this.shown, index = s?.keys.get(key);
    if (index === undefined) return false;
    const rowHeight = s.canvas.height / s.rows.length, x0 = view.placeX(s.from), x1 = view.placeX(s.to);
    drawClipped(context, s.canvas, index * rowHeight, rowHeight, x0, x1, y, height, view);
    return true;
  }

  // The shares of a row at a place of the view: Uint8Array of the categories (255: all warps), or null.
  at(key, place) {
    const s = this.shown, index = s?.keys.get(key);
    if (index === undefined || place < s.from || place >= s.to) return null;
    const bin = Math.floor((place - s.from) / (s.to - s.from) * s.bins),
      offset = (index * s.bins + bin) * STRIP_CATEGORIES;
    return { shares: s.bytes.subarray(offset, offset + STRIP_CATEGORIES), peak: s.peaks[index] };
  }
}

// drawImage of the part that is visible: sources far outside the canvas lose precision.
function drawClipped(context, image, sy, sHeight, x0, x1, y, height, view) {
  const left = Math.max(x0, GUTTER), right = Math.min(x1, GUTTER + view.width);
  if (right <= left) return;
  const scale = image.width / (x1 - x0);
  context.imageSmoothingEnabled = false;
  context.drawImage(image, (left - x0) * scale, sy, (right - left) * scale, sHeight, left, y, right - left, height);
}

// Stacked areas: what waits at the bottom, where heights compare best, then what works, then alive outside every range.
function paintStacks(palette, height) {
  return ({ rows, bytes, bins }) => {
    const canvas = new OffscreenCanvas(bins, rows.length * height), context = canvas.getContext('2d'),
      image = context.createImageData(bins, rows.length * height);
    const pixels = new Uint32Array(image.data.buffer), order = stackOrder(palette),
      colour = palette.category.map(packed);
    for (let row = 0; row < rows.length; row++) {
      for (let bin = 0; bin < bins; bin++) {
        const offset = (row * bins + bin) * STRIP_CATEGORIES;
        let filled = 0, sum = 0;
        for (const c of order) {
          const share = bytes[offset + c];
          if (share === 0) continue;
          sum += share;
          const top = Math.min(height, Math.round(sum * height / 255));
          for (; filled < top; filled++) pixels[((row + 1) * height - 1 - filled) * bins + bin] = colour[c];
        }
      }
    }
    context.putImageData(image, 0, 0);
    return canvas;
  };
}

function stackOrder(palette) {
  const all = Array.from({ length: STRIP_CATEGORIES }, (_, c) => c).filter((c) => c !== 0);
  return [...all.filter((c) => palette.categoryIsWait[c]), ...all.filter((c) => !palette.categoryIsWait[c]), 0];
}

const packed = ([r, g, b]) => (0xFF000000 | (b << 16) | (g << 8) | r) >>> 0;
