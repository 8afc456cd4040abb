// SPDX-License-Identifier: Apache-2.0
// model.js: all of a trace but its events: the tables (worker/tree.js) with the questions the page asks them. Events come
// from its source (source_local.js).
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
  constructor(tables, source) {
    this.source = source;
    source.trace = this;
    const kept = ['t0', 'device', 'strings', 'classes', 'notes', 'nodes', 'lanes', 'categories'];
    for (const key of kept) this[key] = tables[key];
    const { kind } = this.nodes;
    this.nodeCount = kind.length;
    this.laneCount = this.lanes.node.length;
    this.warps = [];
    this.launches = [];
    let launch = null;
    for (let node = 0; node < this.nodeCount; node++) {
      if (kind[node] === NODES.launch) {
        launch = this.makeLaunch(node);
        if (launch) this.launches.push(launch);
      } else if (kind[node] === NODES.sm && launch) {
        launch.sms.push({ node, sm: this.nodes.a[node], start: Infinity, end: -Infinity, firstEnd: Infinity,
          warps: 0 });
      } else if (kind[node] === NODES.warp && launch) this.addWarp(node, launch);
    }
    this.launches.sort((a, b) => a.start - b.start);
    this.launchAt = new Map(this.launches.map((l) => [l.node, l]));
    this.launchOfEvent = new Map(this.launches.map((l) => [l.event, l]));
    this.span = this.launches.reduce((end, l) => Math.max(end, l.end), 1);
    this.collectSms();
    this.collectCounts();
    this.findRoles();
  }

  makeLaunch(node) {
    const slice = this.source.launchSlice(node);
    return slice && { node, ...slice, name: this.nodeName(node), kernel: this.className(slice.cls), sms: [], warps: 0 };
  }

  addWarp(node, launch) {
    const sm = launch.sms.at(-1), [start, end] = this.source.warpSpan(node) ?? [launch.start, launch.end];
    launch.warps++;
    sm.warps++;
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
    const { classCount } = this.source, counts = new Array(KIND_NAME.length).fill(0);
    this.classes.forEach((c, i) => { counts[c.kind] += classCount[i]; });
    this.counts = { launches: this.launches.length, kernels: new Set(this.launches.map((l) => l.kernel)).size,
      warps: this.warps.length, sms: this.sms.length, lifetimes: counts[KINDS.lifetime],
      ranges: counts[KINDS.range] + counts[KINDS.token], tokens: counts[KINDS.token], markers: counts[KINDS.marker],
      diagnostics: counts[KINDS.diagnostic], arrows: this.source.arrowCount, events: this.source.count,
      names: this.classes.filter((c) => [KINDS.range, KINDS.token, KINDS.marker].includes(c.kind)).length };
    this.diagnostics = this.source.diagnostics();
  }

  // Names of the roles (source.roleOf) of all warps, and how many warps have each. "-": no range.
  findRoles() {
    this.warpIndex = new Int32Array(this.nodeCount).fill(-1);
    this.warpRole = new Array(this.warps.length);
    this.roles = new Map();
    this.warps.forEach((node, index) => {
      this.warpIndex[node] = index;
      const cls = this.source.roleOf(node), role = cls < 0 ? '-' : this.className(cls);
      this.warpRole[index] = role;
      this.roles.set(role, (this.roles.get(role) ?? 0) + 1);
    });
  }

  nodeName(node) { return this.strings[this.nodes.name[node]]; }
  className(cls) { return this.strings[this.classes[cls].name]; }

  laneOf(i) {
    return lowerBound(0, this.laneCount, (lane) => this.lanes.first[lane + 1] > i);
  }

  nodeOf(i) { return this.lanes.node[this.laneOf(i)]; }

  ancestor(node, kind) {
    while (node >= 0 && this.nodes.kind[node] !== kind) node = this.nodes.parent[node];
    return node;
  }

  launchOf(node) {
    return this.launchAt.get(this.ancestor(node, NODES.launch)) ?? null;
  }

  absolute(time) { return this.t0 + BigInt(time); }

  // The intervals of events under a node: [first, past the last).
  eventRange(node) {
    const { laneFirst, last } = this.nodes;
    return [this.lanes.first[laneFirst[node]], this.lanes.first[laneFirst[last[node]]]];
  }

  // ---- an event, as a source gives it -----------------------------------------------------------------------------

  eventName(e) { return this.className(e.cls); }
  eventKind(e) { return this.classes[e.cls].kind; }

  // A payload as text: exact, in its own type.
  wordText(type, low, high) {
    const bits = (BigInt(high) << 32n) | BigInt(low);
    if (type === 1) return BigInt.asIntN(64, bits).toString();
    if (type === 3) {
      return floatText(new Float64Array(new BigUint64Array([bits]).buffer)[0]);
    }
    return type === 4 ? `0x${bits.toString(16)}` : bits.toString();
  }

  payloadText(e) { return e.payloadType === 0 ? null : this.wordText(e.payloadType, e.low, e.high); }
  endPayloadText(e) { return e.endPayload ? this.wordText(...e.endPayload) : null; }

  // For plots only: rounded to a double.
  payloadNumber(e) {
    const bits = (BigInt(e.high) << 32n) | BigInt(e.low);
    if (e.payloadType === 3) return new Float64Array(new BigUint64Array([bits]).buffer)[0];
    return Number(e.payloadType === 1 ? BigInt.asIntN(64, bits) : bits);
  }

  label(e) {
    const payload = this.payloadText(e);
    return payload === null ? this.eventName(e) : `${this.eventName(e)} ${payload}`;
  }

  // Where a node is: launch, SM, CTA, warp, lane.
  place(node) {
    const { kind, a, b, c, parent } = this.nodes, place = {};
    for (let at = node; at >= 0; at = parent[at]) {
      if (kind[at] === NODES.warp) Object.assign(place, { warp: a[at], role: this.warpRole[this.warpIndex[at]] });
      else if (kind[at] === NODES.cta) place.cta = [a[at], b[at], c[at]];
      else if (kind[at] === NODES.sm) Object.assign(place, { sm: a[at], gpc: b[at], tpc: c[at] });
      else if (kind[at] === NODES.launch) place.launch = this.launchAt.get(at) ?? null;
      else if (kind[at] >= NODES.ranges && kind[at] <= NODES.token && a[at] >= 0) place.lane = a[at];
    }
    return place;
  }

  // Every field of an event, as [name, text] in the order in which a person wants them.
  fields(e) {
    const { start, end, flags, lane } = e, place = this.place(this.lanes.node[lane]), out = [];
    const kind = this.eventKind(e);
    out.push(['name', this.eventName(e)], ['kind', KIND_NAME[kind]]);
    const payload = this.payloadText(e), closing = this.endPayloadText(e);
    if (payload !== null) out.push(['payload', payload]);
    if (closing !== null) out.push(['end payload', closing]);
    if (flags & FLAGS.instant) out.push(['time', this.absolute(start).toString()],
      ['since start', `${integer(start)} ns`]);
    else {
      out.push(['duration', `${integer(end - start)} ns`], ['start', this.absolute(start).toString()],
        ['end', this.absolute(end).toString()],
        ['since start', `${integer(start)} ns`]);
    }
    if (place.launch && kind !== KINDS.launch) out.push(['since launch',
      `${integer(start - place.launch.start)} ns`]);
    if (flags & FLAGS.unclosed) out.push(['unclosed', 'yes: it was open when its stream ended']);
    const recorded = e.recordedAt;
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
    for (const [key, value] of Object.entries(e.extra ?? {})) out.push([key.replaceAll('_', ' '),
      String(value)]);
    return out;
  }
}
