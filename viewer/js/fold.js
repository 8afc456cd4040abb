// SPDX-License-Identifier: Apache-2.0
// fold.js: launches are often a thousand times farther apart than they are long. Folded, the idle time between them is a
// narrow gap on the screen, so that they stand side by side. Only the screen is folded: times, statistics and links are
// true.
//
//     time      |==A==|                                     |=B=|              |====C====|
//     screen    |==A==|/|=B=|/|====C====|                   place = time + shift of the launch
//
// A run is what one or several launches that overlap last; within it a nanosecond is a nanosecond.
'use strict';

const FOLD_SHARE = 0.12; // of the mean run: a gap's width
const FOLD_WORTH = 0.2;  // of the span: with less idle time there is nothing to fold

class Fold {
  constructor(launches, on) {
    this.runs = [{ from: 0, to: Infinity, shift: 0 }];
    const runs = Fold.runsOf(launches);
    if (on && runs.length > 1) {
      const gap = Math.max(1, Math.round(FOLD_SHARE * runs.reduce((sum, r) => sum + r.to - r.from, 0) / runs.length));
      runs.forEach((run, k) => {
        const before = runs[k - 1];
        run.shift = k === 0 ? 0 : before.shift - Math.max(0, run.from - before.to - gap);
      });
      runs.at(-1).to = Infinity;
      this.runs = runs;
    }
    this.on = this.runs.length > 1;
    for (const launch of launches) launch.shift = this.runs[this.runAt(launch.start)].shift;
  }

  // From the trace's start to the end of the last launch.
  static runsOf(launches) {
    const runs = [{ from: 0, to: 0, shift: 0 }];
    for (const { start, end } of launches) { // by their starts
      const last = runs.at(-1);
      if (start <= last.to || last.to === 0) last.to = Math.max(last.to, end);
      else runs.push({ from: start, to: end, shift: 0 });
    }
    return runs;
  }

  static isWorth(launches, span) {
    const busy = Fold.runsOf(launches).reduce((sum, r) => sum + r.to - r.from, 0);
    return launches.length > 1 && busy < span * (1 - FOLD_WORTH);
  }

  // The last run that begins at or before a time; of a place on the screen.
  runAt(time) { return Math.max(0, lowerBound(0, this.runs.length, (k) => this.runs[k].from > time) - 1); }
  runAtPlace(place) {
    return Math.max(0, lowerBound(0, this.runs.length, (k) => this.runs[k].from + this.runs[k].shift > place) - 1);
  }

  place(time) {
    if (!this.on) return time;
    const k = this.runAt(time), run = this.runs[k], next = this.runs[k + 1];
    if (time <= run.to) return time + run.shift;
    const a = run.to + run.shift, b = next.from + next.shift;
    return a + (time - run.to) / (next.from - run.to) * (b - a);
  }

  time(place) {
    if (!this.on) return place;
    const k = this.runAtPlace(place), run = this.runs[k], next = this.runs[k + 1];
    if (place <= run.to + run.shift) return place - run.shift;
    const a = run.to + run.shift, b = next.from + next.shift;
    return run.to + (place - a) / (b - a) * (next.from - run.to);
  }

  // The runs in a span of the screen, as {from, to, shift} with times cut to it.
  between(from, to) {
    if (!this.on) return [{ from, to, shift: 0 }];
    const out = [];
    for (let k = this.runAtPlace(from); k < this.runs.length && this.runs[k].from + this.runs[k].shift < to; k++) {
      const { shift } = this.runs[k], a = k === 0 ? from : Math.max(from, this.runs[k].from + shift) - shift,
        b = Math.min(to, this.runs[k].to + shift) - shift;
      if (b > a) out.push({ from: a, to: b, shift });
    }
    return out;
  }
}
