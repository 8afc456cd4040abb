// SPDX-License-Identifier: Apache-2.0
// view.js: the span of time on the screen, shared by ruler, map and timeline, and its motion.
'use strict';

const GUTTER = 184; // width of the labels left of every time axis
const MIN_SPAN = 8; // ns: deeper there is nothing to see

class View {
  constructor(span, onChange) {
    this.span = span; // of the trace; 0 is its start
    this.from = 0;
    this.to = span;
    this.width = 800; // of the time axis in CSS pixels
    this.onChange = onChange;
    this.fitTo(0, span);
  }

  get nsPerPixel() { return (this.to - this.from) / this.width; }
  x(time) { return GUTTER + (time - this.from) / this.nsPerPixel; }
  time(x) { return this.from + (x - GUTTER) * this.nsPerPixel; }

  set(from, to) {
    const limit = this.span * 1.1 + 100, low = -this.span * 0.05 - 50;
    let length = Math.max(MIN_SPAN, Math.min(to - from, limit - low));
    from = Math.max(low, Math.min(from, limit - length));
    if (from === this.from && from + length === this.to) return;
    this.from = from;
    this.to = from + length;
    this.onChange();
  }

  fitTo(from, to) {
    const margin = Math.max((to - from) * 0.015, 1);
    this.set(from - margin, to + margin);
  }

  // factor below 1 zooms in; the time under x stays.
  zoom(factor, x = GUTTER + this.width / 2) {
    const at = this.time(x), length = Math.max(MIN_SPAN, (this.to - this.from) * factor),
      share = (at - this.from) / (this.to - this.from);
    this.set(at - length * share, at + length * (1 - share));
  }

  pan(pixels) {
    const move = pixels * this.nsPerPixel;
    this.set(this.from + move, this.to + move);
  }

  // Scrolls, and zooms out or in where needed, so that [from, to] can be seen.
  reveal(from, to) {
    const length = to - from, pixels = length / this.nsPerPixel;
    if (pixels < 4 && length > 0) {
      const want = Math.max(length * 24, MIN_SPAN);
      this.set((from + to) / 2 - want / 2, (from + to) / 2 + want / 2);
    } else if (length > this.to - this.from) this.fitTo(from, to);
    else if (from < this.from || to > this.to) {
      const middle = (from + to) / 2, half = (this.to - this.from) / 2;
      this.set(middle - half, middle + half);
    }
  }
}

// Steps of 1, 2 or 5 times a power of ten, at least `pixels` apart.
function tickStep(nsPerPixel, pixels) {
  const want = Math.max(1, nsPerPixel * pixels), power = 10 ** Math.floor(Math.log10(want));
  for (const m of [1, 2, 5, 10]) if (m * power >= want) return m * power;
  return 10 * power;
}
