// SPDX-License-Identifier: Apache-2.0
// tiles.js: of a trace that is not in this page, the events of the lanes that were on the screen.
//
// Time is cut into tiles of 1,024 pixels, at every zoom by a power of two; a tile of a lane is asked for once and holds at
// most two events a pixel. What a frame needs and is not here yet is drawn from a coarser tile, stretched, or from finer
// ones: never blank once the coarsest one came.
//
//     level 9   |--------------------------------------------------------|   the whole trace: 1,024 * 2^9 ns
//     level 8   |---------------------------|---------------------------|
//     level 7   |-------------|-------------|-------------|-------------|
//
// An answer is a batch: one tile of many lanes. Batches that no frame used for longest go when there are too many events.
'use strict';

const TILE_PIXELS = 1024;
const TILE_EVENTS = 3e6; // kept at most, some 100 MB
const TILE_FINER = 3;    // levels below that are looked at for what is missing

class Tiles {
  constructor(span, most = TILE_EVENTS) {
    this.span = span;
    this.most = most;
    this.top = Math.max(0, Math.ceil(Math.log2((span + 1) / TILE_PIXELS))); // its only tile is the whole trace
    this.ofLane = new Map(); // lane -> Map(key -> piece)
    this.batches = new Set();
    this.events = 0;
    this.clock = 0;
  }

  // The level whose pixels are not wider than the view's, and not much narrower.
  levelOf(nsPerPixel) { return Math.max(0, Math.min(this.top, Math.floor(Math.log2(nsPerPixel)))); }

  width(level) { return TILE_PIXELS * 2 ** level; }
  key(level, tile) { return level * 2 ** 44 + tile; }

  // Numbers of the first and the last tile of a level in [from, to].
  between(level, from, to) {
    const width = this.width(level), last = Math.floor(this.span / width), clamp = (n) => Math.max(0, Math.min(last, n));
    return [clamp(Math.floor(from / width)), clamp(Math.floor(to / width))];
  }

  has(lane, level, tile) { return this.ofLane.get(lane)?.has(this.key(level, tile)) === true; }

  // Takes an answer: {lanes, at, columns} of a tile, asked for `wanted` lanes (of the others it says nothing).
  add(level, tile, wanted, { lanes, at, columns }) {
    const batch = { key: this.key(level, tile), lanes: wanted, used: this.clock, count: columns.start.length };
    const width = this.width(level), from = tile * width, to = from + width, where = new Map();
    lanes.forEach((lane, k) => where.set(lane, k));
    for (const lane of wanted) {
      const k = where.get(lane);
      if (!this.ofLane.has(lane)) this.ofLane.set(lane, new Map());
      this.ofLane.get(lane).set(batch.key, { batch, columns, first: k === undefined ? 0 : at[k],
        limit: k === undefined ? 0 : at[k + 1], from, to, level, nsPerPixel: 2 ** level });
    }
    this.batches.add(batch);
    this.events += batch.count;
    this.dropOld();
  }

  dropOld() {
    if (this.events <= this.most) return;
    for (const batch of [...this.batches].sort((a, b) => a.used - b.used)) {
      if (this.events <= this.most * 0.8 || batch.used === this.clock) return;
      this.batches.delete(batch);
      this.events -= batch.count;
      for (const lane of batch.lanes) {
        const pieces = this.ofLane.get(lane);
        if (pieces?.get(batch.key)?.batch === batch) pieces.delete(batch.key);
        if (pieces?.size === 0) this.ofLane.delete(lane);
      }
    }
  }

  // What there is of a lane in a view, in the order of time, as pieces of source_local.js.
  pieces(lane, view) {
    const held = this.ofLane.get(lane), out = [];
    if (!held) return out;
    const level = this.levelOf(view.nsPerPixel), [first, last] = this.between(level, view.from, view.to);
    for (let tile = first; tile <= last; tile++) this.cover(held, level, tile, view, out);
    return out;
  }

  cover(held, level, tile, view, out) {
    const width = this.width(level), from = tile * width, to = from + width;
    for (let up = level, n = tile; up <= this.top; up++, n = Math.floor(n / 2)) {
      const piece = held.get(this.key(up, n));
      if (!piece) continue;
      this.put(piece, from, to, view, out);
      return;
    }
    this.coverFiner(held, level - 1, 2 * tile, view, out, TILE_FINER);
  }

  coverFiner(held, level, tile, view, out, depth) {
    if (level < 0 || depth === 0) return;
    for (const n of [tile, tile + 1]) {
      const piece = held.get(this.key(level, n));
      if (piece) this.put(piece, piece.from, piece.to, view, out);
      else this.coverFiner(held, level - 1, 2 * n, view, out, depth - 1);
    }
  }

  put(piece, from, to, view, out) {
    piece.batch.used = this.clock;
    const before = out.at(-1);
    out.push({ columns: piece.columns, first: piece.first, limit: piece.limit, from, to,
      again: before !== undefined && before.level === piece.level, level: piece.level,
      coarse: piece.nsPerPixel > view.nsPerPixel * 1.001 ? piece.nsPerPixel : 0 });
  }
}
