// SPDX-License-Identifier: Apache-2.0
// main.js: starts the page. `window.iket` is a read-only look inside for tests and for the browser's console.
'use strict';

document.documentElement.dataset.theme = stored('iket-theme')
  ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');

let currentApp = null, markReady = null;
const ready = new Promise((resolve) => { markReady = resolve; });
const pristine = ['bar', 'banner', 'trouble', 'main'].map((id) => [id, byId(id).cloneNode(true)]);
const loadedAt = { begin: performance.now(), trace: 0, drawn: 0, shown: 0 }; // tables there, first frame, all numbers

const loader = new Loader((tables, source, origin) => {
  if (currentApp) { // another file was dropped: the page starts anew with it
    currentApp.life.abort();
    for (const [id, node] of pristine) byId(id).replaceWith(node.cloneNode(true));
    history.replaceState(null, '', location.pathname + location.search);
  }
  loadedAt.trace = performance.now();
  currentApp = new App(tables, source, origin);
  currentApp.start();
  requestAnimationFrame(() => { loadedAt.drawn = performance.now(); });
  currentApp.settled = () => {
    loadedAt.shown ||= performance.now();
    markReady(true);
  };
});

window.iket = Object.freeze({
  ready,
  get state() { return byId('start').hidden ? 'shown' : byId('start').dataset.state; },
  get counts() { return { ...currentApp.trace.counts }; },
  get t0() { return String(currentApp.trace.t0); },
  get timing() { return { ...loadedAt }; },
  get frames() { return currentApp.frames; },
  get painted() { return currentApp.timeline.painted; }, // rectangles of the last frame of the timeline
  get view() { return { from: currentApp.view.from, to: currentApp.view.to, span: currentApp.view.span,
    width: currentApp.view.width, folded: currentApp.view.fold.on }; },
  timeAt: (x) => currentApp.view.time(x), // of a place in the canvases, in CSS pixels
  xOf: (time) => currentApp.view.x(time),
  get selected() { return currentApp.selected; },
  get selection() { return currentApp.selection && { ...currentApp.selection }; },
  get focus() { return currentApp.focusClass < 0 ? null : currentApp.trace.className(currentApp.focusClass); },
  get rows() { return currentApp.rows.nodes.map((node) => ({ name: currentApp.trace.nodeName(node),
    kind: currentApp.trace.nodes.kind[node], open: currentApp.rows.open[node] === 1 })); },
  get launches() { return currentApp.trace.launches.map(({ name, kernel, start, end, warps, startSkew,
    endSkew }) => ({ name, kernel, start, end, warps, startSkew, endSkew })); },
  get roles() { return Object.fromEntries(currentApp.trace.roles); },
  get roleSums() { return currentApp.roles.sums
    && currentApp.roles.names.map((name, k) => ({ name, ...currentApp.roles.sums[k] })); },
  get stats() {
    return currentApp.names.sorted().map((s) => ({ ...s, name: currentApp.trace.className(s.cls),
      kind: KIND_NAME[currentApp.trace.classes[s.cls].kind], total: String(s.total) }));
  },
  get diagnostics() { return currentApp.trace.diagnostics.map((d) => d.text).concat(currentApp.trace.notes); },
  get settled() { return !currentApp.statsPending && !currentApp.heat.group.busy && !currentApp.timeline.group.busy
    && !currentApp.pending && !currentApp.source.busy; },
  get remote() { return currentApp.source.remote; },
  // Where the events are in the page: at once.
  fields: (event) => Object.fromEntries(currentApp.trace.fields(currentApp.source.at(event))),
  // Of any source, as promises.
  ask: (question, ...given) => new Promise((then) => { currentApp.source[question](...given, then); }),
  fieldsOf: (event) => new Promise((then) => {
    currentApp.source.get(event, (e) => then(Object.fromEntries(currentApp.trace.fields(e))));
  }),
  find: (name, limit = 1000) => {
    const { source, trace } = currentApp, found = [];
    for (let i = 0; i < source.count && found.length < limit; i++) {
      if (trace.className(source.columns.cls[i]) === name) found.push(i);
    }
    return found;
  },
  arrowsOf: (event) => currentApp.source.arrowsOf(event),
  // Where an event is on the screen, in CSS pixels of the page; null when its row is closed.
  placeOf: (event) => {
    const { source, timeline } = currentApp, e = source.at(event), place = e && timeline.placeOf(e);
    const box = timeline.canvas.getBoundingClientRect();
    return place && { x: box.x + Math.max(GUTTER, place.x), y: box.y + place.y, width: place.width,
      height: place.height };
  },
  // Where an SM's line of the map is.
  placeOfSm: (sm) => {
    const { heat } = currentApp, at = heat.order.findIndex((s) => s.sm === sm),
      box = heat.canvas.getBoundingClientRect();
    return at < 0 ? null : { x: box.x + GUTTER, y: box.y + at * heat.line, width: currentApp.view.width,
      height: heat.line };
  },
});

loader.begin();
