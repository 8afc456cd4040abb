// SPDX-License-Identifier: Apache-2.0
// store.js: the events of a trace as columns, while they are read.
//
// A row is a slice (it has an end) or an instant. Times are nanoseconds since T0, the least time of the trace: they stay
// below 2^53 and so are exact as doubles; T0 itself is a BigInt. A payload is its 64 bits as two 32-bit words, so that
// nothing is rounded.
//
//     start[]  end[]  cls[]  lane[]  flags[]  payloadType[]  payload[2 * i], [2 * i + 1]
//
// `cls` is the event's class: one per (name, kind). `lane` is one per (track, depth), so that the slices of a lane never
// overlap and come in the order of their starts.
'use strict';

const KIND = { lifetime: 0, range: 1, token: 2, marker: 3, launch: 4, diagnostic: 5, other: 6 };
const FLAG = { instant: 1, unclosed: 2, endPayload: 4, recordedAt: 8, backwards: 16 };
const PAYLOAD = { none: 0, int: 1, uint: 2, double: 3, pointer: 4, text: 5 };
const NO_CLASS = 0xFFFF;
const MAX_DEPTH = 512;

class Store {
  constructor(capacity) {
    this.count = 0;
    this.capacity = Math.max(1024, capacity);
    this.start = new Float64Array(this.capacity);
    this.end = new Float64Array(this.capacity);
    this.cls = new Uint16Array(this.capacity);
    this.parentCls = new Uint16Array(this.capacity);
    this.lane = new Uint32Array(this.capacity);
    this.below = new Int32Array(this.capacity); // the open slice around this one, -1: none
    this.flags = new Uint8Array(this.capacity);
    this.payloadType = new Uint8Array(this.capacity);
    this.payload = new Uint32Array(this.capacity * 2);
    this.endPayload = new Map(); // row -> [type, low, high]
    this.recordedAt = new Map(); // row -> [BigInt of the begin or null, BigInt of the end or null]
    this.extra = new Map();      // row -> {annotation: value}
    this.arrowFrom = new Map();  // flow id -> row that it leaves
    this.arrowTo = [];           // [flow id, row that it reaches]
  }

  grow() {
    this.capacity *= 2;
    for (const [key, column] of Object.entries(this)) {
      if (!ArrayBuffer.isView(column)) continue;
      const wider = new column.constructor(column.length * 2);
      wider.set(column);
      this[key] = wider;
    }
  }

  add(start, end, cls, lane, flags) {
    const row = this.count;
    if (row === this.capacity) this.grow();
    this.count = row + 1;
    this.start[row] = start;
    this.end[row] = end;
    this.cls[row] = cls;
    this.lane[row] = lane;
    this.flags[row] = flags;
    return row;
  }
}

// What a reader feeds: tracks by their uuid, then begin, end and instant events, on each track in the order of records.
class Builder {
  constructor(capacity) {
    this.store = new Store(capacity);
    this.tracks = [];          // {uuid, parent (uuid), name, rank, pid, lanes[], top, depth}
    this.trackByUuid = new Map();
    this.trackList = [];       // the same by small uuid
    this.laneCount = 0;
    this.strings = [];
    this.stringIndex = new Map();
    this.classes = [];         // {name, kind}
    this.classIndex = new Map();
    this.notes = [];           // what was odd about the file, in plain words
    this.unopenedEnds = 0;
    this.tooDeep = 0;
    this.unknownTracks = 0;
  }

  string(text) {
    let index = this.stringIndex.get(text);
    if (index === undefined) {
      index = this.strings.push(text) - 1;
      this.stringIndex.set(text, index);
    }
    return index;
  }

  classOf(nameIndex, kind) {
    const key = nameIndex * 8 + kind;
    let cls = this.classIndex.get(key);
    if (cls === undefined) {
      cls = this.classes.push({ name: nameIndex, kind }) - 1;
      if (cls >= NO_CLASS) throw new Error('the trace has more than 65,534 different names; export fewer launches');
      this.classIndex.set(key, cls);
    }
    return cls;
  }

  track(uuid, parent, name, rank) {
    const track = { uuid, parent, name, rank, lanes: [], top: -1, depth: 0 };
    this.tracks.push(track);
    this.trackByUuid.set(uuid, track);
    if (uuid < 1 << 24) this.trackList[uuid] = track;
    return track;
  }

  trackOf(uuid) { return uuid < 1 << 24 ? this.trackList[uuid] : this.trackByUuid.get(uuid); }

  laneAt(track, depth) {
    while (track.lanes.length <= depth) track.lanes.push(this.laneCount++);
    return track.lanes[depth];
  }

  begin(track, time, cls) {
    const store = this.store, depth = track.depth++;
    if (depth >= MAX_DEPTH) {
      this.tooDeep++;
      return -1;
    }
    const row = store.add(time, time, cls, this.laneAt(track, depth), 0);
    store.below[row] = track.top;
    store.parentCls[row] = track.top < 0 ? NO_CLASS : store.cls[track.top];
    track.top = row;
    return row;
  }

  end(track, time) {
    if (track.depth === 0) {
      this.unopenedEnds++;
      return -1;
    }
    if (--track.depth >= MAX_DEPTH) return -1;
    const row = track.top;
    this.store.end[row] = time;
    track.top = this.store.below[row];
    return row;
  }

  instant(track, time, cls) {
    const row = this.store.add(time, time, cls, this.laneAt(track, 0), FLAG.instant);
    this.store.parentCls[row] = NO_CLASS;
    return row;
  }
}
