// SPDX-License-Identifier: Apache-2.0
// link.js: the view in the page's address, so that a copied link shows the same place.
//
//     #t=1200,3400&q=sm:12&name=mma_wait&e=123&span=1300,1500&open=12.13&y=240&fold=1
//
// t and span are nanoseconds since the trace's start; e is an event's number in the page's order, which is the same for
// the same file, as are the numbers of the open rows.
'use strict';

class Link {
  constructor(app) {
    this.app = app;
    this.timer = 0;
    window.addEventListener('hashchange', () => {
      if (location.hash !== this.written) this.read();
    }, { signal: app.life.signal });
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.write(), 200);
  }

  text() {
    const { app } = this, parts = new Map(), round = (t) => String(Math.round(t));
    parts.set('t', `${round(app.view.fold.time(app.view.from))},${round(app.view.fold.time(app.view.to))}`);
    if (app.view.fold.on) parts.set('fold', '1');
    if (app.query.text) parts.set('q', app.query.text);
    if (app.focusClass >= 0) parts.set('name', app.trace.className(app.focusClass));
    if (app.selected >= 0) parts.set('e', String(app.selected));
    if (app.selection) {
      parts.set('span', `${round(app.selection.from)},${round(app.selection.to)}`);
      if (app.selection.sms) parts.set('sms', app.selection.sms.join('.'));
    }
    const open = this.openNodes();
    if (open) parts.set('open', open);
    if (app.timeline.top > 0) parts.set('y', round(app.timeline.top));
    return `#${[...parts].map(([k, v]) => `${k}=${encodeURIComponent(v).replaceAll('%2C', ',').replaceAll('%3A',
      ':')}`).join('&')}`;
  }

  write() {
    this.written = this.text();
    history.replaceState(null, '', this.written);
  }

  // The rows below kernels that are open, at most 200.
  openNodes() {
    const { trace, rows } = this.app, { kind } = trace.nodes, open = [];
    for (const node of rows.nodes) {
      if (rows.open[node] && kind[node] >= NODES.bucket && kind[node] <= NODES.cta) open.push(node);
      if (open.length >= 200) break;
    }
    return open.join('.');
  }

  read() {
    const { app } = this, parts = new Map(location.hash.slice(1).split('&').filter(Boolean).map((p) => {
      const at = p.indexOf('=');
      return [p.slice(0, at), safeDecode(p.slice(at + 1))];
    }));
    const numbers = (key) => (parts.get(key) ?? '').split(',').map(Number);
    const span = (key) => {
      const [a, b] = numbers(key);
      return parts.has(key) && Number.isFinite(a) && Number.isFinite(b) && a < b ? [a, b] : null;
    };
    if (parts.has('q')) app.search(parts.get('q'));
    const cls = parts.has('name') ? app.trace.classes.findIndex((c) => app.trace.strings[c.name] === parts.get('name'))
      : -1;
    if (cls >= 0) app.focusName(cls);
    if (parts.has('open')) {
      for (const text of parts.get('open').split('.')) {
        const node = Number(text);
        if (Number.isInteger(node) && node > 0 && node < app.trace.nodeCount) app.rows.open[node] = 1;
      }
      app.rows.rebuild();
      app.resizeSpacer();
    }
    const view = span('t'), selected = span('span'), event = Number(parts.get('e') ?? -1);
    if (view && app.view.fold.on !== parts.has('fold')) app.foldGaps(parts.has('fold'));
    if (view) app.view.show(...view);
    if (selected) {
      const sms = parts.has('sms') ? parts.get('sms').split('.').map(Number) : null;
      app.setSelection({ from: selected[0], to: selected[1], sms });
    }
    if (Number.isInteger(event) && event >= 0 && event < app.source.count) app.select(event);
    if (parts.has('y')) app.timeline.scroller.scrollTop = Number(parts.get('y')) || 0;
    return parts.size > 0;
  }
}

function safeDecode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
