// SPDX-License-Identifier: Apache-2.0
// model.js: the trace as the page holds it: the worker's tables (worker/tree.js) with the questions the page asks them.
'use strict';

const KINDS = { lifetime: 0, range: 1, token: 2, marker: 3, launch: 4, diagnostic: 5, other: 6 };
const KIND_NAME = ['warp lifetime', 'range', 'token range', 'marker', 'launch', 'diagnostic', 'event'];
const FLAGS = { instant: 1, unclosed: 2, endPayload: 4, recordedAt: 8 };
const NODES = { root: 0, kernel: 1, bucket: 2, launch: 3, sm: 4, cta: 5, warp: 6, ranges: 7, markers: 8, token: 9,
  diagnostics: 10 };

// The least index in [from, to) for which test is true; test is false, then true.
function lowerBound(from, to, test) {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (test(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}

class Trace {
  constructor(tables) {
    Object.assign(this, tables);
    const { kind, last } = this.nodes;
    this.nodeCount = kind.length;
    this.laneCount = this.lanes.node.length;
    this.payload64 = new BigUint64Array(this.events.payload.buffer);
    this.warps = [];
    this.launches = [];
    let sm = -1, launch = null;
    for (let node = 0; node < this.nodeCount; node++) {
      if (kind[node] === NODES.launch) {
        launch = this.makeLaunch(node);
        if (launch) this.launches.push(launch);
      } else if (kind[node] === NODES.sm && launch) {
        sm = node;
        launch.sms.push({ node, sm: this.nodes.a[node], start: Infinity, end: -Infinity, firstEnd: Infinity,
          warps: 0 });
      } else if (kind[node] === NODES.warp && launch) this.addWarp(node, launch, sm, last);
    }
    this.launches.sort((a, b) => a.start - b.start);
    this.span = this.launches.reduce((end, l) => Math.max(end, l.end), 1);
    this.collectSms();
    this.collectCounts();
    this.findRoles();
  }

  makeLaunch(node) {
    const lane = this.nodes.laneFirst[node];
    if (lane === this.nodes.laneFirst[node + 1]) return null;
    const event = this.lanes.first[lane], extra = this.extra.get(event) ?? {};
    return { node, event, extra, name: this.nodeName(node), kernel: this.className(this.events.cls[event]),
      start: this.events.start[event],
      end: this.events.end[event], sms: [], warps: 0 };
  }

  addWarp(node, launch, smNode) {
    const lane = this.nodes.laneFirst[node];
    launch.warps++;
    const sm = launch.sms.at(-1);
    sm.warps++;
    const has = lane < this.nodes.laneFirst[node + 1] && this.lanes.first[lane] < this.lanes.first[lane + 1];
    const start = has ? this.events.start[this.lanes.first[lane]] : launch.start;
    const end = has ? this.events.end[this.lanes.first[lane + 1] - 1] : launch.end;
    sm.start = Math.min(sm.start, start);
    sm.end = Math.max(sm.end, end);
    this.warps.push(node);
  }

  // One entry per SM id over all launches, for the map.
  collectSms() {
    const byId = new Map();
    for (const launch of this.launches) {
      launch.sms = launch.sms.filter((s) => s.warps > 0);
      for (const s of launch.sms) {
        if (!byId.has(s.sm)) byId.set(s.sm, { sm: s.sm, gpc: this.nodes.b[s.node], tpc: this.nodes.c[s.node],
          parts: [], start: Infinity, end: -Infinity });
        const all = byId.get(s.sm);
        all.parts.push({ launch, node: s.node });
        all.start = Math.min(all.start, s.start - launch.start);
        all.end = Math.max(all.end, s.end - launch.start);
      }
      const starts = launch.sms.map((s) => s.start), ends = launch.sms.map((s) => s.end);
      launch.startSkew = starts.length ? Math.max(...starts) - Math.min(...starts) : 0;
      launch.endSkew = ends.length ? Math.max(...ends) - Math.min(...ends) : 0;
    }
    this.sms = [...byId.values()].sort((a, b) => a.sm - b.sm);
  }

  collectCounts() {
    const counts = new Array(KIND_NAME.length).fill(0), perClass = new Uint32Array(this.classes.length);
    for (let i = 0; i < this.events.count; i++) perClass[this.events.cls[i]]++;
    this.classes.forEach((c, i) => { counts[c.kind] += perClass[i]; });
    this.classCount = perClass;
    this.counts = { launches: this.launches.length, kernels: new Set(this.launches.map((l) => l.kernel)).size,
      warps: this.warps.length,
      sms: this.sms.length, lifetimes: counts[KINDS.lifetime], ranges: counts[KINDS.range] + counts[KINDS.token],
      tokens: counts[KINDS.token], markers: counts[KINDS.marker], diagnostics: counts[KINDS.diagnostic],
        arrows: this.arrows.length / 2,
        events: this.events.count,
      names: this.classes.filter((c) => c.kind === KINDS.range || c.kind === KINDS.token
        || c.kind === KINDS.marker).length };
    this.diagnostics = [];
    this.classes.forEach((c, cls) => {
      if (c.kind !== KINDS.diagnostic) return;
      for (let i = 0; i < this.events.count; i++) {
        if (this.events.cls[i] === cls) this.diagnostics.push({ text: this.strings[c.name], ...this.extra.get(i) });
      }
    });
  }

  // A warp's role is the outermost range in which it spends most time: what a warp-specialised kernel calls producer or
  // consumer. "-": it has no range.
  findRoles() {
    const { first } = this.lanes, { start, end, cls } = this.events;
    const warpIndex = new Int32Array(this.nodeCount).fill(-1), roles = new Map();
    this.warpRole = new Array(this.warps.length);
    const sums = new Float64Array(this.classes.length);
    this.warps.forEach((node, index) => {
      warpIndex[node] = index;
      let best = -1;
      for (const lane of this.outerLanes(node)) {
        for (let i = first[lane]; i < first[lane + 1]; i++) sums[cls[i]] += end[i] - start[i] + 1e-3;
      }
      for (const lane of this.outerLanes(node)) {
        for (let i = first[lane]; i < first[lane + 1]; i++) {
          if (best < 0 || sums[cls[i]] > sums[best]) best = cls[i];
        }
      }
      for (const lane of this.outerLanes(node)) for (let i = first[lane]; i < first[lane + 1]; i++) sums[cls[i]] = 0;
      const role = best < 0 ? '-' : this.className(best);
      this.warpRole[index] = role;
      roles.set(role, (roles.get(role) ?? 0) + 1);
    });
    this.warpIndex = warpIndex;
    this.roles = roles;
  }

  outerLanes(node) {
    const { laneFirst, last, kind } = this.nodes, lanes = [];
    if (laneFirst[node + 1] - laneFirst[node] > 1) lanes.push(laneFirst[node] + 1);
    if (lanes.length > 0) return lanes;
    for (let child = node + 1; child < last[node]; child++) {
      if ((kind[child] === NODES.token || kind[child] === NODES.ranges)
        && laneFirst[child] < laneFirst[child + 1]) lanes.push(laneFirst[child]);
    }
    return lanes;
  }

  nodeName(node) { return this.strings[this.nodes.name[node]]; }
  className(cls) { return this.strings[this.classes[cls].name]; }
  eventName(i) { return this.className(this.events.cls[i]); }
  eventKind(i) { return this.classes[this.events.cls[i]].kind; }
  isInstant(i) { return (this.events.flags[i] & FLAGS.instant) !== 0; }

  laneOf(i) {
    return lowerBound(0, this.laneCount, (lane) => this.lanes.first[lane + 1] > i);
  }

  nodeOf(i) { return this.lanes.node[this.laneOf(i)]; }

  ancestor(node, kind) {
    while (node >= 0 && this.nodes.kind[node] !== kind) node = this.nodes.parent[node];
    return node;
  }

  launchOf(node) {
    const at = this.ancestor(node, NODES.launch);
    return this.launches.find((l) => l.node === at) ?? null;
  }

  absolute(time) { return this.t0 + BigInt(time); }

  // A payload as text: exact, in its own type.
  wordText(type, low, high) {
    const bits = (BigInt(high) << 32n) | BigInt(low);
    if (type === 1) return BigInt.asIntN(64, bits).toString();
    if (type === 3) {
      return floatText(new Float64Array(new BigUint64Array([bits]).buffer)[0]);
    }
    return type === 4 ? `0x${bits.toString(16)}` : bits.toString();
  }

  payloadText(i) {
    const type = this.events.payloadType[i];
    return type === 0 ? null : this.wordText(type, this.events.payload[2 * i], this.events.payload[2 * i + 1]);
  }

  // For plots only: rounded to a double.
  payloadNumber(i) {
    const type = this.events.payloadType[i];
    if (type === 0) return NaN;
    const bits = this.payload64[i];
    if (type === 3) return new Float64Array(this.events.payload.buffer, i * 8, 1)[0];
    return Number(type === 1 ? BigInt.asIntN(64, bits) : bits);
  }

  endPayloadText(i) {
    const payload = this.endPayload.get(i);
    return payload ? this.wordText(...payload) : null;
  }

  label(i) {
    const payload = this.payloadText(i);
    return payload === null ? this.eventName(i) : `${this.eventName(i)} ${payload}`;
  }

  // Where a node is: launch, SM, CTA, warp, lane.
  place(node) {
    const { kind, a, b, c, parent } = this.nodes, place = {};
    for (let at = node; at >= 0; at = parent[at]) {
      if (kind[at] === NODES.warp) Object.assign(place, { warp: a[at], role: this.warpRole[this.warpIndex[at]] });
      else if (kind[at] === NODES.cta) place.cta = [a[at], b[at], c[at]];
      else if (kind[at] === NODES.sm) Object.assign(place, { sm: a[at], gpc: b[at], tpc: c[at] });
      else if (kind[at] === NODES.launch) place.launch = this.launches.find((l) => l.node === at) ?? null;
      else if (kind[at] >= NODES.ranges && kind[at] <= NODES.token && a[at] >= 0) place.lane = a[at];
    }
    return place;
  }

  // Every field of an event, as [name, text] in the order in which a person wants them.
  fields(i) {
    const { start, end, flags } = this.events, place = this.place(this.nodeOf(i)), lane = this.laneOf(i), out = [];
    const kind = this.eventKind(i);
    out.push(['name', this.eventName(i)], ['kind', KIND_NAME[kind]]);
    const payload = this.payloadText(i), closing = this.endPayloadText(i);
    if (payload !== null) out.push(['payload', payload]);
    if (closing !== null) out.push(['end payload', closing]);
    if (this.isInstant(i)) out.push(['time', this.absolute(start[i]).toString()],
      ['since start', `${integer(start[i])} ns`]);
    else {
      out.push(['duration', `${integer(end[i] - start[i])} ns`], ['start', this.absolute(start[i]).toString()],
        ['end', this.absolute(end[i]).toString()],
        ['since start', `${integer(start[i])} ns`]);
    }
    if (place.launch && kind !== KINDS.launch) out.push(['since launch',
      `${integer(start[i] - place.launch.start)} ns`]);
    if (flags[i] & FLAGS.unclosed) out.push(['unclosed', 'yes: it was open when its stream ended']);
    const recorded = this.recordedAt.get(i);
    if (recorded) out.push(['recorded at', recorded.filter((t) => t !== null).map(String).join(', ')]);
    if (kind === KINDS.range) out.push(['depth', String(this.lanes.depth[lane])]);
    if (place.warp !== undefined) {
      out.push(['warp', String(place.warp)]);
      if (place.lane !== undefined) out.push(['lane', String(place.lane)]);
      out.push(['CTA', `(${place.cta.join(', ')})`]);
      const where = place.gpc >= 0 && place.tpc >= 0 ? ` (GPC ${place.gpc}, TPC ${place.tpc})` : '';
      out.push(['SM', `${place.sm}${where}`]);
      if (place.role !== '-') out.push(['role', place.role]);
    }
    if (place.launch) {
      if (kind !== KINDS.launch) out.push(['launch', place.launch.name], ['kernel', place.launch.kernel]);
    }
    for (const [key, value] of Object.entries(this.extra.get(i) ?? {})) out.push([key.replaceAll('_', ' '),
      String(value)]);
    return out;
  }

  // The arrows of an event, as {from, to}.
  arrowsOf(i) {
    if (!this.arrowIndex) {
      this.arrowIndex = new Map(); // event -> places of its pairs
      for (let k = 0; k < this.arrows.length; k++) {
        const list = this.arrowIndex.get(this.arrows[k]);
        if (list) list.push(k >> 1);
        else this.arrowIndex.set(this.arrows[k], [k >> 1]);
      }
    }
    return (this.arrowIndex.get(i) ?? []).map((k) => ({ from: this.arrows[2 * k], to: this.arrows[2 * k + 1] }));
  }

  // The intervals of events under a node: [first, past the last).
  eventRange(node) {
    const { laneFirst, last } = this.nodes;
    return [this.lanes.first[laneFirst[node]], this.lanes.first[laneFirst[last[node]]]];
  }

  // The next (direction 1) or previous event of the class within a warp, by time; -1: none.
  neighbour(i, direction) {
    const warp = this.ancestor(this.nodeOf(i), NODES.warp), { start, cls } = this.events;
    const [from, to] = this.eventRange(warp >= 0 ? warp : this.nodeOf(i));
    let best = -1;
    for (let j = from; j < to; j++) {
      if (cls[j] !== cls[i] || j === i) continue;
      const after = start[j] > start[i] || (start[j] === start[i] && j > i);
      if (after !== (direction > 0)) continue;
      if (best < 0 || (direction > 0 ? start[j] < start[best] : start[j] > start[best]
        || (start[j] === start[best] && j > best))) best = j;
    }
    return best;
  }

  // The slice around an event (direction -1) or the first inside it (1), on its track; -1: none.
  nested(i, direction) {
    const lane = this.laneOf(i), next = lane + direction, { first, node } = this.lanes, { start, end } = this.events;
    if (next < 0 || next >= this.laneCount || node[next] !== node[lane]) return -1;
    if (direction < 0) {
      const at = lowerBound(first[next], first[next + 1], (j) => start[j] > start[i]) - 1;
      return at >= first[next] && end[at] >= end[i] ? at : -1;
    }
    const at = lowerBound(first[next], first[next + 1], (j) => start[j] >= start[i]);
    return at < first[next + 1] && end[at] <= end[i] ? at : -1;
  }
}
