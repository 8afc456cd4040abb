// SPDX-License-Identifier: Apache-2.0
// tips.js: the tooltip, and what it says of an event, a row and a place in a strip.
'use strict';

class Tip {
  constructor(app) {
    this.app = app;
    this.node = byId('tip');
  }

  show(e, children) {
    this.node.replaceChildren(...children);
    this.node.hidden = false;
    const { width, height } = this.node.getBoundingClientRect();
    let x = e.clientX + 14, y = e.clientY + 16;
    if (x + width > innerWidth - 6) x = e.clientX - width - 12;
    if (y + height > innerHeight - 6) y = Math.max(4, e.clientY - height - 12);
    this.node.style.left = `${Math.max(4, x)}px`;
    this.node.style.top = `${y}px`;
  }

  hide() {
    this.node.hidden = true;
  }

  event(e) {
    const { palette, trace } = this.app, fields = trace.fields(e), label = trace.label(e);
    const head = e.flags & FLAGS.instant ? label : `${elide(label, 48)} · ${duration(e.end - e.start)}`;
    return [element('div', { class: 'tip-head' },
      element('i', { class: 'swatch', style: { background: palette.fill[e.cls] } }), head),
      fieldTable(fields.slice(1).map(([key, value]) => [key, elide(value, 52)]))];
  }

  row(node) {
    const { trace } = this.app, kind = trace.nodes.kind[node], [from, to] = trace.eventRange(node),
      rows = [['events', integer(to - from)]];
    if (kind === NODES.warp) rows.push(['role', trace.warpRole[trace.warpIndex[node]]]);
    return [element('div', { class: 'tip-head' }, trace.nodeName(node)), fieldTable(rows)];
  }

  strip(title, time, here) {
    const { trace } = this.app, rows = [['time', `${integer(Math.max(0, Math.round(time)))} ns`]];
    if (here) {
      const all = here.shares.reduce((a, b) => a + b, 0);
      rows.push(['warps alive', `about ${trimZeros((all / 255 * here.peak).toFixed(1))} of ${here.peak}`]);
      const parts = [...here.shares.keys()].filter((c) => here.shares[c] > 0).sort((a,
        b) => here.shares[b] - here.shares[a]);
      for (const c of parts.slice(0, 8)) {
        const cls = trace.categories.classes[c];
        rows.push([c === 0 ? 'in no range' : cls < 0 ? 'other names' : trace.className(cls),
          percent(here.shares[c] / all)]);
      }
    }
    return [element('div', { class: 'tip-head' }, title), fieldTable(rows)];
  }
}
