// SPDX-License-Identifier: Apache-2.0
// source_remote.js: a trace whose events stay on the server. The questions are those of LocalSource; the worker asks them
// (worker/remote.js, doc/api.md).
//
// The events on the screen come as tiles (tiles.js), a few requests at a time: first what the view lacks, then the coarsest
// tile, then what a pan or a scroll will need. A request that the view has left is given up. Where the server does not
// answer, what is here stays, the page says so, and what was asked is asked again.
'use strict';

const REMOTE_FLIGHTS = 3;    // requests for tiles at a time
const REMOTE_EVENTS = 20000; // single events kept
const REMOTE_CSV = 5e6;      // lines that the server sends

class RemoteSource {
  constructor(tables, loader, root) {
    this.loader = loader;
    this.root = root;
    this.tables = tables;
    this.count = tables.events;
    this.arrowCount = tables.arrows;
    this.classCount = tables.classes.map((c) => c.count);
    this.launchOf = new Map(tables.launches.map((l) => [l.node, l]));
    this.warpAt = new Int32Array(tables.nodes.kind.length).fill(-1); // node -> its place in tables.warps
    tables.warps.node.forEach((node, k) => { this.warpAt[node] = k; });
    this.tiles = new Tiles(tables.span);
    this.flights = new Map(); // number of a question -> {level, tile, lanes}
    this.events = new Map();  // number -> event, with `near` where its neighbours are known
    this.asking = new Map();  // number of an event -> what waits for it
    this.waiting = [];        // what is asked again when the server answers again
    this.open = 0;            // questions, apart from tiles
  }

  attach(app) {
    this.app = app;
    app.life.signal.addEventListener('abort', () => clearTimeout(this.timer));
  }

  get remote() { return true; }
  get busy() { return this.flights.size > 0 || this.open > 0 || this.waiting.length > 0; }
  get csvLimit() { return REMOTE_CSV; }

  // ---- known now ----------------------------------------------------------------------------------------------------

  launchSlice(node) {
    const l = this.launchOf.get(node);
    return l ? { event: l.event, start: l.start, end: l.end, cls: l.cls, extra: l.extra } : null;
  }

  warpSpan(node) {
    const k = this.warpAt[node], { start, end } = this.tables.warps;
    return k < 0 || start[k] < 0 ? null : [start[k], end[k]];
  }

  roleOf(node) {
    const role = this.tables.warps.role[this.warpAt[node]];
    return role >= 0 ? this.tables.roles[role].class : -1;
  }

  diagnostics() { return this.tables.diagnostics.map(({ text, extra }) => ({ text, ...extra })); }

  at(i) { return this.events.get(i) ?? null; }

  eventIn({ columns, coarse }, lane, i) {
    const event = columns.event[i], known = this.events.get(event);
    if (known) return known;
    const flags = columns.flags[i], launch = this.trace.launchOfEvent.get(event);
    return { event, lane, start: columns.start[i], end: columns.end[i], cls: columns.cls[i], flags,
      payloadType: columns.payloadType[i], low: columns.payload[2 * i], high: columns.payload[2 * i + 1],
      endPayload: null, recordedAt: null, extra: launch?.extra ?? null,
      whole: (flags & (FLAGS.endPayload | FLAGS.recordedAt)) === 0, rough: coarse > 0 };
  }

  pieces(lane, view) { return this.tiles.pieces(lane, view); }

  arrowsOf(i) { return this.events.get(i)?.near?.arrows ?? []; }

  // ---- tiles --------------------------------------------------------------------------------------------------------

  // Asks for what the rows [first, last) lack in this view, then for what is likely to come.
  want(first, last, view) {
    this.tiles.clock++;
    const groups = this.groups(first, last, view), wanted = new Map();
    const { tiles } = this, level = tiles.levelOf(view.nsPerPixel);
    for (const [shift] of groups) {
      const v = view.shifted(shift), [a, b] = tiles.between(level, v.from, v.to);
      wanted.set(shift, { a, b });
    }
    const inView = (tile) => [...wanted.values()].some(({ a, b }) => tile >= a - 1 && tile <= b + 1);
    for (const [id, flight] of this.flights) {
      if (flight.level === tiles.top || (flight.level === level && inView(flight.tile))) continue;
      this.loader.cancel(id);
      this.flights.delete(id);
    }
    if (this.timer) return; // the server does not answer
    const shown = (lanes, { a, b }) => {
      for (let tile = a; tile <= b; tile++) this.request(level, tile, lanes);
    };
    for (const [shift, lanes] of groups) shown(lanes, wanted.get(shift));
    for (const [, lanes] of groups) this.request(tiles.top, 0, lanes);
    const later = view.from >= (this.lastFrom ?? 0), [low, high] = tiles.between(level, 0, this.tables.span);
    this.lastFrom = view.from;
    for (const [shift, lanes] of groups) {
      const { a, b } = wanted.get(shift);
      for (const tile of later ? [b + 1, a - 1] : [a - 1, b + 1]) {
        if (tile >= low && tile <= high) this.request(level, tile, lanes);
      }
    }
    const rows = last - first;
    for (const [shift, lanes] of this.groups(Math.max(0, first - rows), last + rows, view)) {
      if (wanted.has(shift)) shown(lanes, wanted.get(shift));
    }
  }

  // The lanes of rows, by the shift of their launches.
  groups(first, last, view) {
    const groups = new Map(), lanes = this.lanesOfRows(first, last);
    for (const lane of lanes) {
      const shift = view.fold.on ? this.trace.launchOf(this.trace.lanes.node[lane])?.shift ?? 0 : 0;
      if (!groups.has(shift)) groups.set(shift, []);
      groups.get(shift).push(lane);
    }
    return groups;
  }

  lanesOfRows(first, last) {
    const { rows, trace } = this.app, { kind, laneFirst } = trace.nodes, lanes = [];
    for (let r = first; r < Math.min(last, rows.nodes.length); r++) {
      const node = rows.nodes[r];
      if (kind[node] === NODES.launch) lanes.push(laneFirst[node]);
      else if (kind[node] === NODES.warp) for (const { lane } of rows.warpLanes(node).lanes) lanes.push(lane);
    }
    return lanes;
  }

  request(level, tile, lanes) {
    if (this.flights.size >= REMOTE_FLIGHTS) return;
    const flying = new Set();
    for (const flight of this.flights.values()) {
      if (flight.level === level && flight.tile === tile) flight.lanes.forEach((lane) => flying.add(lane));
    }
    const missing = lanes.filter((lane) => !this.tiles.has(lane, level, tile) && !flying.has(lane));
    missing.sort((x, y) => x - y);
    const width = this.tiles.width(level);
    for (const { text, numbers } of intervalTexts(missing)) {
      if (this.flights.size >= REMOTE_FLIGHTS) return;
      const query = queryText({ lanes: text, from: tile * width, to: (tile + 1) * width, ns_per_pixel: 2 ** level });
      const id = this.loader.ask({ question: { what: 'window', query } }, (answer) => {
        this.flights.delete(id);
        this.answered();
        this.tiles.add(level, tile, numbers, answer);
        this.app.invalidate();
      }, (failed) => {
        this.flights.delete(id);
        this.trouble(failed, null);
      });
      this.flights.set(id, { level, tile, lanes: numbers });
    }
  }

  // ---- asked --------------------------------------------------------------------------------------------------------

  // `failed` is called where it will never be answered. Gives a handle, to give the question up.
  ask(what, given, then, failed) {
    const handle = { id: 0, over: false, repeat: () => {
      if (handle.over) return;
      this.open++;
      handle.id = this.loader.ask({ question: { what, query: queryText(given) } }, (answer) => {
        this.open--;
        handle.over = true;
        this.answered();
        then(answer);
        this.app.invalidate();
      }, (why) => {
        this.open--;
        handle.over = !why.again;
        this.trouble(why, handle.repeat);
        if (!why.again) failed();
      });
    } };
    handle.repeat();
    return handle;
  }

  // Nobody wants the answer any more.
  giveUp(handle) {
    if (handle.over) return;
    handle.over = true;
    if (this.loader.cancel(handle.id)) this.open--;
  }

  answered() {
    byId('trouble').hidden = true;
    this.turns = 0;
  }

  // No answer: says why; what may succeed later is asked again, after longer and longer waits.
  trouble({ message, again }, repeat) {
    const line = byId('trouble');
    line.hidden = false;
    line.textContent = `The server ${message}.${again ? ' What is here stays; asking again…' : ''}`;
    if (!again) return;
    if (repeat) this.waiting.push(repeat);
    if (this.timer) return;
    this.turns = Math.min(5, (this.turns ?? 0) + 1);
    this.timer = setTimeout(() => {
      this.timer = 0;
      for (const f of this.waiting.splice(0)) f();
      this.app.invalidate();
    }, 1000 * Math.max(again, this.turns));
  }

  // The scope (App.scope) as selectors; null: nothing fits.
  selectors({ span, sms, query: { terms } }) {
    const { trace } = this, given = {}, all = (values, test) => [...new Set(values)].filter(test).sort((a, b) => a - b);
    if (terms.launch || terms.kernel) given.under = this.launchSpans(terms);
    const smFits = (sm) => (!terms.sm || terms.sm(sm)) && (!sms || sms.includes(sm));
    if (terms.sm || sms) given.sm = numberSpans(all(trace.sms.map((s) => s.sm), smFits));
    if (terms.cta) given.cta = terms.ctaText;
    if (terms.warp) given.warp = numberSpans(all(trace.warps.map((node) => trace.nodes.a[node]), terms.warp));
    if (terms.role) {
      given.role = numberSpans(all(this.tables.roles.keys(), (k) => terms.role(this.roleName(k))));
    }
    if (Object.values(given).includes('')) return null;
    return span ? { ...given, from: span.from, to: span.to } : given;
  }

  launchSpans({ launch, kernel }) {
    const { trace } = this, fits = (l) => (!launch || launch(l.extra.launch ?? 0)) && (!kernel || kernel(l.kernel));
    const nodes = trace.launches.filter(fits).map((l) => [l.node, trace.nodes.last[l.node]]);
    return mergedIntervals(nodes.sort((a, b) => a[0] - b[0])).map(([a, b]) => `${a}-${b}`).join();
  }

  roleName(k) {
    const cls = this.tables.roles[k].class;
    return cls < 0 ? '-' : this.trace.className(cls);
  }

  get(i, then) {
    const known = this.events.get(i);
    if (known?.near) {
      then(known);
      return;
    }
    const waiting = this.asking.get(i) ?? [], done = () => this.asking.delete(i);
    waiting.push(then);
    if (waiting.length > 1) return;
    this.asking.set(i, waiting);
    this.ask('events', { ids: i }, ({ events }) => {
      done();
      for (const e of events) this.keep(e);
      if (this.events.has(i)) for (const f of waiting) f(this.events.get(i));
    }, done);
  }

  keep({ outer, inner, previous, next, arrows, ...event }) {
    if (this.events.size >= REMOTE_EVENTS) this.events.clear();
    const near = next === undefined ? this.events.get(event.event)?.near : { outer, inner, previous, next, arrows };
    this.events.set(event.event, { ...event, near, whole: true });
  }

  // A click may mean one of the events that a pixel stands for.
  eventAt(lane, time, near, then, shown) {
    if (lane < 0) then(-1);
    else if (shown && !shown.rough && shown.end - shown.start >= near) {
      if (!this.events.has(shown.event)) this.events.set(shown.event, shown);
      then(shown.event);
    } else this.find({ by: 'point', lane, time: decimal(time), near: decimal(near) }, then);
  }

  find(given, then) {
    if (given === null) then(-1);
    else this.ask('find', given, ({ event }) => then(event), () => then(-1));
  }

  neighbour(i, direction, then) { this.get(i, ({ near }) => then(direction > 0 ? near.next : near.previous)); }
  nested(i, direction, then) { this.get(i, ({ near }) => then(direction > 0 ? near.inner : near.outer)); }

  acrossWarps(i, direction, query, then) {
    const rows = this.selectors({ span: null, sms: null, query });
    this.find(rows && { by: 'warp', after: i, direction, ...rows }, then);
  }

  nextMatch(i, direction, classes, scope, then) {
    const list = [...classes.keys()].filter((c) => classes[c]).join('.');
    const rows = this.selectors({ ...scope, span: null });
    this.find(rows && list !== '' ? { by: 'order', after: i, direction, classes: list, ...rows } : null, then);
  }

  firstUnder(node, time, cls, then) {
    this.find({ by: 'node', node, from: Math.max(0, Math.ceil(time)), class: cls < 0 ? null : cls }, then);
  }

  longest(cls, scope, limit, then) {
    const given = this.selectors(scope);
    if (given === null) then([]);
    else this.ask('longest', { ...given, class: cls, limit }, ({ events, lane, columns }) => {
      const piece = { columns: { ...columns, event: events }, coarse: 0 };
      then(events.map((_, k) => this.eventIn(piece, lane[k], k)));
    }, () => then([]));
  }

  points(cls, scope, limit, then) {
    const given = this.selectors(scope), none = { x: [], y: [], every: 1, total: 0 };
    if (given === null) then(none);
    else this.ask('points', { ...given, class: cls, limit }, then, () => then(none));
  }

  stats(scope, then) {
    const given = this.selectors(scope);
    if (this.counting) this.giveUp(this.counting);
    this.counting = null;
    if (given === null) then({ classes: [] });
    else this.counting = this.ask('statistics', given, then, () => then({ classes: [] }));
  }

  activity(rows, from, to, bins, then) {
    const picture = new ActivityPicture(rows.length, bins), questions = activityQuestions(rows, from, to, bins, this.app.view.fold,
      picture);
    let left = questions.length;
    const done = () => {
      if (--left === 0) then(picture);
    };
    for (const { given, row, bin } of questions) {
      this.ask('activity', given, (answer) => {
        picture.put(answer, row, bin, given.bins);
        done();
      }, done);
    }
    if (left === 0) then(picture);
  }

  roles(waits, then) {
    const { trace } = this, order = [...trace.roles.keys()];
    const sums = order.map(() => ({ warps: 0, lifetime: 0, wait: 0, work: 0 }));
    this.tables.roles.forEach((role, k) => {
      const sum = sums[order.indexOf(this.roleName(k))];
      if (!sum) return;
      sum.warps += role.warps;
      sum.lifetime += role.lifetime;
      for (const [cls, time] of role.own) {
        if (trace.classes[cls].kind === KINDS.lifetime) continue;
        if (waits[cls]) sum.wait += time;
        else sum.work += time;
      }
    });
    then(sums);
  }

  saveCsv(cls, scope, name) {
    const query = queryText({ ...this.selectors(scope), class: cls < 0 ? null : cls }); // nothing fits: it is disabled
    element('a', { href: `${this.root}rows.csv?${query}`, download: name }).click();
  }
}
