// SPDX-License-Identifier: Apache-2.0
// source_local.js: a trace whose events are all in this page, as the worker read them.
//
// Where events come from is a source. There are two, with the same questions: this one, and RemoteSource, for a trace
// that is too large to load, which asks the server (doc/api.md). What is `known now` answers at once and may be asked in
// every frame; the rest calls `then` with the answer, here at once, there later.
//
//     known now   count, classCount[], launchSlice(node), warpSpan(node), roleOf(node), diagnostics(), arrowCount
//                 at(i)                 event number i, or null while it is not here
//                 pieces(lane, view)    what a frame draws of a lane: [{columns, first, limit, from, to, again, coarse}]
//                 eventIn(piece, lane, i)  an event of such a piece; whole: false where some of its fields are not here
//                 arrowsOf(i)           [{from, to}], numbers of events
//     asked       get, eventAt, neighbour, acrossWarps, nested, nextMatch, firstUnder, longest, points, stats, activity,
//                 roles, saveCsv
//
// An event is {event, lane, start, end, cls, flags, payloadType, low, high, endPayload, recordedAt, extra}. Columns hold
// many: start[], end[], cls[], flags[], payloadType[], payload[2 * k], [2 * k + 1]. Numbers of events, nodes and lanes are
// the same in both sources.
'use strict';

class LocalSource {
  constructor(tables, loader) {
    this.loader = loader;
    this.tables = tables;
    this.columns = tables.events;
    this.first = tables.lanes.first;
    this.count = tables.events.count;
    this.arrows = tables.arrows;
    this.arrowCount = tables.arrows.length / 2;
    this.classCount = new Uint32Array(tables.classes.length);
    for (let i = 0; i < this.count; i++) this.classCount[this.columns.cls[i]]++;
  }

  attach() {}
  get remote() { return false; }
  get busy() { return false; }
  get csvLimit() { return Infinity; }
  want() {}

  // ---- known now ----------------------------------------------------------------------------------------------------

  // The slice of a launch node: {event, start, end, cls, extra}, or null.
  launchSlice(node) {
    const { nodes, extra } = this.tables, lane = nodes.laneFirst[node];
    if (lane === nodes.laneFirst[node + 1]) return null;
    const event = this.first[lane], { start, end, cls } = this.columns;
    return { event, start: start[event], end: end[event], cls: cls[event], extra: extra.get(event) ?? {} };
  }

  // [start, end] of a warp's lifetimes, or null.
  warpSpan(node) {
    const lane = this.tables.nodes.laneFirst[node], { first } = this;
    if (lane === this.tables.nodes.laneFirst[node + 1] || first[lane] === first[lane + 1]) return null;
    return [this.columns.start[first[lane]], this.columns.end[first[lane + 1] - 1]];
  }

  // A warp's role is the outermost range in which it spends most time: what a warp-specialised kernel calls producer or
  // consumer. Gives its class; -1: it has no range.
  roleOf(node) {
    const { first } = this, { start, end, cls } = this.columns, lanes = this.outerLanes(node);
    const sums = (this.sums ??= new Float64Array(this.classCount.length));
    let best = -1;
    for (const lane of lanes) {
      for (let i = first[lane]; i < first[lane + 1]; i++) sums[cls[i]] += end[i] - start[i] + 1e-3;
    }
    for (const lane of lanes) {
      for (let i = first[lane]; i < first[lane + 1]; i++) if (best < 0 || sums[cls[i]] > sums[best]) best = cls[i];
    }
    for (const lane of lanes) for (let i = first[lane]; i < first[lane + 1]; i++) sums[cls[i]] = 0;
    return best;
  }

  outerLanes(node) {
    const { laneFirst, last, kind } = this.tables.nodes, lanes = [];
    if (laneFirst[node + 1] - laneFirst[node] > 1) lanes.push(laneFirst[node] + 1);
    if (lanes.length > 0) return lanes;
    for (let child = node + 1; child < last[node]; child++) {
      if ((kind[child] === NODES.token || kind[child] === NODES.ranges)
        && laneFirst[child] < laneFirst[child + 1]) lanes.push(laneFirst[child]);
    }
    return lanes;
  }

  diagnostics() {
    const { classes, strings, extra } = this.tables, out = [];
    classes.forEach((c, cls) => {
      if (c.kind !== KINDS.diagnostic) return;
      for (let i = 0; i < this.count; i++) {
        if (this.columns.cls[i] === cls) out.push({ text: strings[c.name], ...extra.get(i) });
      }
    });
    return out;
  }

  at(i) {
    const { start, end, cls, flags, payloadType, payload } = this.columns;
    const { endPayload, recordedAt, extra } = this.tables;
    return { event: i, lane: this.trace.laneOf(i), start: start[i], end: end[i], cls: cls[i], flags: flags[i],
      payloadType: payloadType[i], low: payload[2 * i], high: payload[2 * i + 1], endPayload: endPayload.get(i) ?? null,
      recordedAt: recordedAt.get(i) ?? null, extra: extra.get(i) ?? null };
  }

  eventIn(piece, lane, i) { return this.at(i); }

  pieces(lane) {
    return [{ columns: this.columns, first: this.first[lane], limit: this.first[lane + 1], from: -Infinity,
      to: Infinity, again: false, coarse: 0 }];
  }

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

  // ---- asked --------------------------------------------------------------------------------------------------------

  get(i, then) { then(this.at(i)); }

  // The event of a lane at a time, where `shown` is what its picture has there.
  eventAt(lane, time, near, then, shown) { then(shown ? shown.event : -1); }

  // The next (direction 1) or previous event of the class within a warp, by time; -1: none.
  neighbour(i, direction, then) {
    const { trace } = this, warp = trace.ancestor(trace.nodeOf(i), NODES.warp), { start, cls } = this.columns;
    const [from, to] = trace.eventRange(warp >= 0 ? warp : trace.nodeOf(i));
    let best = -1;
    for (let j = from; j < to; j++) {
      if (cls[j] !== cls[i] || j === i) continue;
      const after = start[j] > start[i] || (start[j] === start[i] && j > i);
      if (after !== (direction > 0)) continue;
      if (best < 0 || (direction > 0 ? start[j] < start[best] : start[j] > start[best]
        || (start[j] === start[best] && j > best))) best = j;
    }
    then(best);
  }

  // In the next warp that the search leaves and that has an event of the class, the one that starts nearest.
  acrossWarps(i, direction, query, then) {
    const { trace } = this, { cls, start } = this.columns, want = cls[i], time = start[i];
    const warp = trace.ancestor(trace.nodeOf(i), NODES.warp);
    for (let w = trace.warpIndex[warp] + direction; warp >= 0 && w >= 0 && w < trace.warps.length; w += direction) {
      if (query.nodes && !query.nodes[trace.warps[w]]) continue;
      const [from, to] = trace.eventRange(trace.warps[w]);
      let best = -1;
      for (let j = from; j < to; j++) {
        if (cls[j] === want && (best < 0 || Math.abs(start[j] - time) < Math.abs(start[best] - time))) best = j;
      }
      if (best >= 0) {
        then(best);
        return;
      }
    }
    then(-1);
  }

  // The slice around an event (direction -1) or the first inside it (1), on its track; -1: none.
  nested(i, direction, then) { then(this.nestedIn(this.trace.laneOf(i), i, direction)); }

  nestedIn(lane, i, direction) {
    const next = lane + direction, { first } = this, { node } = this.tables.lanes, { start, end } = this.columns;
    if (next < 0 || next >= this.trace.laneCount || node[next] !== node[lane]) return -1;
    if (direction < 0) {
      const at = lowerBound(first[next], first[next + 1], (j) => start[j] > start[i]) - 1;
      return at >= first[next] && end[at] >= end[i] ? at : -1;
    }
    const at = lowerBound(first[next], first[next + 1], (j) => start[j] >= start[i]);
    return at < first[next + 1] && end[at] <= end[i] ? at : -1;
  }

  // The next event of these classes (an array of 0 and 1) in scope, in the order of numbers.
  nextMatch(i, direction, classes, scope, then) {
    const { first, count } = this, lanes = this.lanesOf(scope), { cls } = this.columns;
    const inScope = (k) => lanes.some(([a, b]) => k >= first[a] && k < first[b]);
    for (let step = 1, k = i; step <= count; step++) {
      k = (k + direction + count) % count;
      if (classes[cls[k]] && inScope(k)) {
        then(k);
        return;
      }
    }
    then(-1);
  }

  // The first range, token range or marker under a node that ends at or after `time`; cls -1: of any name.
  firstUnder(node, time, wanted, then) {
    const { cls, end } = this.columns, { classes } = this.tables, kinds = [KINDS.range, KINDS.token, KINDS.marker];
    const [from, to] = this.trace.eventRange(node);
    for (let i = from; i < to; i++) {
      if (end[i] >= time && kinds.includes(classes[cls[i]].kind) && (wanted < 0 || cls[i] === wanted)) {
        then(i);
        return;
      }
    }
    then(-1);
  }

  // The lanes that the search and the selected SMs leave.
  lanesOf({ query, sms }) {
    const tops = sms === null ? null
      : this.trace.sms.filter((s) => sms.includes(s.sm)).flatMap((s) => s.parts.map((p) => p.node));
    return visibleLanes(this.trace, query.nodes, tops);
  }

  // Calls f(event) for the events of a class (-1: all) in scope.
  eachInScope(cls, scope, f) {
    const { start, end, cls: classes } = this.columns, { first } = this, { span } = scope;
    for (const [laneFrom, laneTo] of this.lanesOf(scope)) {
      for (let i = first[laneFrom]; i < first[laneTo]; i++) {
        if ((cls < 0 || classes[i] === cls) && (!span || (end[i] >= span.from && start[i] <= span.to))) f(i);
      }
    }
  }

  // The longest events of a class, longest first.
  longest(cls, scope, limit, then) {
    const { start, end } = this.columns, top = [];
    this.eachInScope(cls, scope, (i) => {
      const length = end[i] - start[i];
      if (top.length === limit && length <= end[top[limit - 1]] - start[top[limit - 1]]) return;
      let at = top.length;
      while (at > 0 && end[top[at - 1]] - start[top[at - 1]] < length) at--;
      top.splice(at, 0, i);
      if (top.length > limit) top.pop();
    });
    then(top.map((i) => this.at(i)));
  }

  // {x[], y[], every, total}: a marker's payload over its time, a range's duration over its payload.
  points(cls, scope, limit, then) {
    const { start, end, payloadType } = this.columns, instant = this.tables.classes[cls].kind === KINDS.marker;
    const points = { x: [], y: [], every: Math.max(1, Math.ceil(this.classCount[cls] / limit)), total: 0 };
    this.eachInScope(cls, scope, (i) => {
      if (payloadType[i] === 0 || points.total++ % points.every !== 0) return;
      const value = this.trace.payloadNumber(this.at(i));
      if (!Number.isFinite(value)) return;
      points.x.push(instant ? start[i] : value);
      points.y.push(instant ? value : end[i] - start[i]);
    });
    then(points);
  }

  stats(scope, then) {
    const { from, to } = scope.span ?? { from: -Infinity, to: Infinity };
    this.loader.ask({ stats: { from, to, laneRanges: this.lanesOf(scope) } }, then);
  }

  activity(rows, from, to, bins, then) {
    this.loader.ask({ activity: { rows: rows.map((r) => r.ranges), from, to, bins } }, then);
  }

  // Per role {warps, lifetime, wait, work}, in the order of trace.roles.
  roles(waits, then) {
    const { trace } = this, number = new Map([...trace.roles.keys()].map((name, k) => [name, k]));
    this.loader.ask({ roles: { nodes: Int32Array.from(trace.warps), count: number.size, waits,
      roles: Int32Array.from(trace.warpRole, (role) => number.get(role)) } }, ({ sums }) => then(sums));
  }

  saveCsv(cls, scope, name) {
    const blob = new Blob(csvLines(this, cls, scope), { type: 'text/csv' }), url = URL.createObjectURL(blob);
    element('a', { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  }
}
