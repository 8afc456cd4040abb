// SPDX-License-Identifier: Apache-2.0
// view.js: the span of time on the screen, shared by ruler, map and timeline, and its motion.
//
// from and to are places: times, unless gaps between launches are folded (fold.js). x and time convert times.
'use strict';

const GUTTER = 184; // width of the labels left of every time axis
const MIN_SPAN = 8; // ns: deeper there is nothing to see

class View {
  constructor(launches, end, onChange) {
    this.launches = launches;
    this.end = end; // of the trace; 0 is its start
    this.from = 0;
    this.to = 0;
    this.width = 800; // of the time axis in CSS pixels
    this.onChange = onChange;
    this.foldGaps(false);
    this.fitTo(0, end);
  }

  // Folds gaps between launches, or not; what was in the middle stays.
  foldGaps(on) {
    const from = this.fold?.time(this.from), to = this.fold?.time(this.to);
    this.fold = new Fold(this.launches, on);
    this.span = this.fold.place(this.end);
    if (from !== undefined) this.show(from, to);
  }

  get nsPerPixel() { return (this.to - this.from) / this.width; }
  x(time) { return this.placeX(this.fold.place(time)); }
  time(x) { return this.fold.time(this.place(x)); }
  placeX(place) { return GUTTER + (place - this.from) / this.nsPerPixel; }
  place(x) { return this.from + (x - GUTTER) * this.nsPerPixel; }

  // The same view in the times of what is shifted (a launch's events).
  shifted(shift) {
    return shift === 0 ? this : { from: this.from - shift, to: this.to - shift, width: this.width,
      nsPerPixel: this.nsPerPixel };
  }

  // Times from and to at the edges.
  show(from, to) { this.set(this.fold.place(from), this.fold.place(to)); }

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
    const a = this.fold.place(from), b = this.fold.place(to), margin = Math.max((b - a) * 0.015, 1);
    this.set(a - margin, b + margin);
  }

  // factor below 1 zooms in; the time under x stays.
  zoom(factor, x = GUTTER + this.width / 2) {
    const at = this.place(x), length = Math.max(MIN_SPAN, (this.to - this.from) * factor),
      share = (at - this.from) / (this.to - this.from);
    this.set(at - length * share, at + length * (1 - share));
  }

  pan(pixels) {
    const move = pixels * this.nsPerPixel;
    this.set(this.from + move, this.to + move);
  }

  // Scrolls, and zooms out or in where needed, so that [from, to] can be seen.
  reveal(start, end) {
    const from = this.fold.place(start), to = this.fold.place(end);
    const length = to - from, pixels = length / this.nsPerPixel;
    if (pixels < 4 && length > 0) {
      const want = Math.max(length * 24, MIN_SPAN);
      this.set((from + to) / 2 - want / 2, (from + to) / 2 + want / 2);
    } else if (length > this.to - this.from) this.fitTo(start, end);
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
