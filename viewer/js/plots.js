// SPDX-License-Identifier: Apache-2.0
// plots.js: the durations of one name as a histogram, and against their payloads.
'use strict';

const PLOT_POINTS = 20000, LONGEST = 8;
const LONGEST_COLUMNS = [['longest', ''], ['at', 'n'], ['SM', 'n'], ['CTA', 'n'], ['warp', 'n'], ['payload', 'n']];

class Plots {
  constructor(app) {
    this.app = app;
    this.keys = {};    // of the answers: class and scope
    this.answers = {}; // longest, points
  }

  // The chosen name, else the one on top of the table.
  subject() {
    const { app } = this;
    if (app.focusClass >= 0) return app.focusClass;
    const selected = app.selectedEvent?.cls ?? -1;
    if (app.names.stats.some((s) => s.cls === selected)) return selected;
    const top = app.names.sorted().find((s) => app.names.rank(s) < 2);
    return top ? top.cls : -1;
  }

  canvas(body, title, note, draw, below = null) {
    const canvas = element('canvas', { role: 'img', 'aria-label': `${title}. ${note}` });
    body.replaceChildren(element('div', { class: 'plot-title' }, element('b', {}, title), element('span', {}, note)),
      element('div', { class: 'plot' }, canvas), ...(below ? [below] : []));
    const box = canvas.parentElement.getBoundingClientRect();
    const c = fitCanvas(canvas, Math.max(120, box.width), Math.max(80, box.height)), { palette } = this.app;
    c.fillStyle = palette.ui.panel;
    c.fillRect(0, 0, box.width, box.height);
    c.font = this.app.font(10);
    draw(c, box.width, box.height, palette.ui);
  }

  distribution(body) {
    const { app } = this, cls = this.subject(), s = app.names.stats.find((x) => x.cls === cls);
    if (!s || app.trace.classes[cls].kind === KINDS.marker) {
      body.replaceChildren(element('p', { class: 'empty' },
        'Choose a range in the table: its durations are shown here.'));
      return;
    }
    const parts = ['min', 'p50', 'p90', 'p99', 'max'].map((key) => `${key} ${duration(s[key])}`);
    const note = [integer(s.count), ...parts].join(' · ');
    this.canvas(body, app.trace.className(cls), note, (c, width, height, ui) => this.drawHistogram(c, width, height,
      ui, s, app.palette.fill[cls]), this.longest(cls));
  }

  // The longest events of a name, where they are, to go to.
  longest(cls) {
    this.fresh('longest', cls, LONGEST, this.app.source);
    const rows = (this.answers.longest ?? []).map((e) => this.longestRow(e));
    return element('div', { class: 'scroll longest' }, grid(LONGEST_COLUMNS, rows));
  }

  // Asks the source for this.answers[what] of a class, unless it is that of the scope already.
  fresh(what, cls, limit, source) {
    const key = `${cls} ${this.app.statsTurn}`;
    if (this.keys[what] === key) return;
    this.keys[what] = key;
    this.answers[what] = null;
    let late = false;
    source[what](cls, this.app.scope, limit, (answer) => {
      if (this.keys[what] !== key) return;
      this.answers[what] = answer;
      if (late) this.app.tabs.draw();
    });
    late = true;
  }

  longestRow(e) {
    const { app } = this, { trace } = app, place = trace.place(trace.lanes.node[e.lane]);
    const go = () => {
      app.select(e.event, true);
      app.revealEvent(e.event);
    };
    return element('tr', { class: app.selected === e.event ? 'on' : '', onclick: go },
      element('td', {}, plainButton(`${integer(e.end - e.start)} ns`)),
        numberCell(`+${duration(e.start)}`, `${integer(e.start)} ns`),
      ...[place.sm ?? '', place.cta?.join(', ') ?? '', place.warp ?? '', trace.payloadText(e)
        ?? ''].map((v) => numberCell(String(v))));
  }

  // Bars over quarter powers of two; the zero-length ones stand apart on the left.
  drawHistogram(c, width, height, ui, s, colour) {
    const edge = (bin) => (bin === 0 ? 0 : 2 ** ((bin - 1) / 4)),
      first = s.histogram.findIndex((n, i) => n > 0 && i > 0);
    const from = Math.max(1, (first < 0 ? 1 : first) - 1), to = Math.max(from + 7, s.histogram.length + 1);
    const left = 34, bottom = height - 18, zero = s.histogram[0] > 0 ? 26 : 0,
      slot = (width - left - zero - 8) / (to - from);
    const most = Math.max(...s.histogram), y = (n) => bottom - (n / most) * (bottom - 10);
    c.strokeStyle = ui.line;
    c.fillStyle = ui['ink-faint'];
    c.textAlign = 'right';
    c.textBaseline = 'middle';
    for (const share of most > 1 ? [0.5, 1] : [1]) {
      const at = Math.round(y(most * share)) + 0.5;
      c.beginPath();
      c.moveTo(left, at);
      c.lineTo(width - 4, at);
      c.stroke();
      c.fillText(compact(most * share), left - 4, at);
    }
    c.fillStyle = colour;
    if (zero) c.fillRect(left + 2, y(s.histogram[0]), 16, bottom - y(s.histogram[0]));
    for (let bin = from; bin < s.histogram.length; bin++) {
      const n = s.histogram[bin];
      if (n > 0) c.fillRect(left + zero + (bin - from) * slot + 0.5, Math.min(bottom - 1, y(n)), Math.max(1, slot - 1),
        Math.max(1, bottom - y(n)));
    }
    c.fillStyle = ui['ink-soft'];
    c.textAlign = 'center';
    if (zero) c.fillText('0', left + 10, height - 8);
    const every = Math.max(1, Math.ceil(52 / (slot * 4))) * 4;
    for (let bin = from; bin <= to; bin++) {
      if ((bin - 1) % every !== 0) continue;
      const x = left + zero + (bin - from) * slot;
      if (x < width - 20) c.fillText(duration(Math.round(edge(bin))), Math.max(left + 12, x), height - 8);
    }
    this.mark(c, ui, left + zero, slot, from, s.p50, 'p50', bottom, 8);
    this.mark(c, ui, left + zero, slot, from, s.p99, 'p99', bottom, Math.log2(s.p99 / s.p50) * 4 * slot < 26 ? 19 : 8);
  }

  mark(c, ui, left, slot, from, value, title, bottom, y) {
    if (value < 1) return;
    const x = Math.round(left + (Math.log2(value) * 4 + 1 - from) * slot) + 0.5;
    c.strokeStyle = ui['ink-soft'];
    c.setLineDash([2, 2]);
    c.beginPath();
    c.moveTo(x, 4);
    c.lineTo(x, bottom);
    c.stroke();
    c.setLineDash([]);
    c.fillStyle = ui['ink-soft'];
    c.textAlign = 'left';
    c.fillText(title, x + 2, y);
  }

  // A marker's payload over time; a range's duration by its payload.
  payload(body) {
    const { app } = this, { trace } = app;
    const cls = app.focusClass >= 0 ? app.focusClass : this.subject();
    if (cls >= 0) this.fresh('points', cls, PLOT_POINTS, app.source);
    const points = cls < 0 ? null : this.answers.points;
    if (cls >= 0 && !points) {
      body.replaceChildren(element('p', { class: 'empty' }, 'Looking for its payloads…'));
      return;
    }
    if (!points || points.x.length === 0) {
      body.replaceChildren(element('p', { class: 'empty' },
        'Choose a name that has a payload in the table: its payloads are plotted here.'));
      return;
    }
    const instant = trace.classes[cls].kind === KINDS.marker;
    const some = points.every > 1 ? ` of ${integer(points.total)} (one in ${points.every})` : '';
    const note = `${instant ? 'payload over time' : 'duration by payload'} · ${integer(points.x.length)}${some}`;
    this.canvas(body, trace.className(cls), note, (c, width, height, ui) => this.drawScatter(c, width, height, ui,
      points, instant, app.palette.fill[cls]));
  }

  drawScatter(c, width, height, ui, { x, y }, instant, colour) {
    const range = (values) => values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
    const [x0, x1] = range(x), [low, y1] = range(y), y0 = instant ? low : 0, left = 52, bottom = height - 18,
      right = width - 8;
    const px = (v) => left + 4 + (x1 > x0 ? (v - x0) / (x1 - x0) : 0.5) * (right - left - 8),
      py = (v) => bottom - 3 - (y1 > y0 ? (v - y0) / (y1 - y0) : 0.5) * (bottom - 12);
    c.strokeStyle = ui.line;
    c.strokeRect(left + 0.5, 4.5, right - left, bottom - 4);
    // Equal points as one, its area by their number.
    const spots = new Map();
    for (let i = 0; i < x.length; i++) {
      const at = Math.round(px(x[i])) * 65536 + Math.round(py(y[i]));
      spots.set(at, (spots.get(at) ?? 0) + 1);
    }
    const most = Math.max(...spots.values()), unit = Math.max(1, Math.sqrt(most) / 6);
    c.fillStyle = colour;
    c.globalAlpha = 0.7;
    c.beginPath();
    for (const [at, count] of spots) {
      const cx = Math.floor(at / 65536), cy = at % 65536, radius = Math.max(1.3, Math.sqrt(count) / unit);
      c.moveTo(cx + radius, cy);
      c.arc(cx, cy, radius, 0, 2 * Math.PI);
    }
    c.fill();
    c.globalAlpha = 1;
    c.fillStyle = ui['ink-soft'];
    c.textBaseline = 'middle';
    c.textAlign = 'right';
    const time = (v) => duration(Math.round(v)), [xText, yText] = instant ? [time, floatText] : [floatText, time];
    c.fillText(yText(y1), left - 4, 10);
    c.fillText(yText(y0), left - 4, bottom - 4);
    c.textAlign = 'left';
    c.fillText(xText(x0), left, height - 8);
    c.textAlign = 'right';
    c.fillText(xText(x1), right, height - 8);
    c.textAlign = 'center';
    c.fillText(instant ? 'time' : 'payload', (left + right) / 2, height - 8);
  }
}

function compact(n) {
  if (n >= 1e6) return `${trimZeros((n / 1e6).toFixed(n < 1e7 ? 2 : 1))} M`;
  if (n >= 1e5) return `${Math.round(n / 1e3)} k`;
  return n >= 1e4 ? `${trimZeros((n / 1e3).toFixed(1))} k` : integer(Math.round(n));
}
