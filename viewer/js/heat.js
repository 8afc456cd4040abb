// SPDX-License-Identifier: Apache-2.0
// heat.js: SM by time. One line of pixels per SM, every SM of the trace on one screen, so that late SMs, skew and
// imbalance are shapes. A click opens that SM in the timeline; a drag selects a span of time and SMs.
'use strict';

class Heat {
  constructor(app) {
    this.app = app;
    this.canvas = byId('heat');
    this.mode = 'activity';
    this.orderKey = 'sm';
    this.busy = null; // busy share per SM id, from the last picture of the whole trace
    this.group = new StripGroup((...request) => app.askActivity(...request), (shown) => this.paint(shown));
    this.reorder();
    byId('heat-mode').addEventListener('change', (e) => {
      this.mode = e.target.value;
      this.group.repaint();
      app.invalidate();
    });
    byId('heat-order').addEventListener('change', (e) => {
      this.orderKey = e.target.value;
      this.reorder();
      app.invalidate();
    });
    this.canvas.addEventListener('pointerdown', (e) => this.press(e));
    this.canvas.addEventListener('pointermove', (e) => this.hover(e));
    this.canvas.addEventListener('pointerleave', () => app.tip.hide());
    this.canvas.addEventListener('wheel', (e) => app.input.wheelZoom(e), { passive: false });
  }

  reorder() {
    const by = {
      sm: (s) => [s.sm], gpc: (s) => [s.gpc, s.tpc, s.sm], start: (s) => [s.start, s.sm], end: (s) => [-s.end, s.sm],
      busy: (s) => [-(this.busy?.get(s.sm) ?? 0), s.sm],
    }[this.orderKey];
    this.order = [...this.app.trace.sms].sort((a, b) => {
      const x = by(a), y = by(b), i = x.findIndex((v, k) => v !== y[k]);
      return i < 0 ? 0 : x[i] - y[i];
    });
    this.group.forget();
  }

  // Room for the tools beside it.
  get least() { return byId('fold-tool').hidden ? 56 : 78; }

  // Height of the map for a given room; lines of equal height, none above 14 pixels.
  layout(room) {
    const n = Math.max(1, this.order.length);
    this.line = Math.max(1, Math.min(14, Math.floor(room / n)));
    this.height = Math.max(this.least, this.line * n > room ? room : this.line * n);
    if (this.line * n > room) this.line = room / n; // more SMs than pixels
    return this.height;
  }

  smAt(y) { return this.order[Math.floor(y / this.line)] ?? null; }

  press(e) {
    const { app } = this;
    if (e.button !== 0 || e.offsetX < GUTTER) return;
    const from = Math.floor(e.offsetY / this.line);
    app.input.dragSelect(this.canvas, e, (at) => {
      const to = Math.floor(at.offsetY / this.line), [a, b] = from <= to ? [from, to] : [to, from];
      return this.order.slice(Math.max(0, a), b + 1).map((s) => s.sm);
    }, () => {
      const sm = this.smAt(e.offsetY);
      if (sm) app.openSm(sm.sm, app.view.time(e.offsetX));
    });
  }

  hover(e) {
    const { app } = this, sm = e.offsetX >= GUTTER ? this.smAt(e.offsetY) : null;
    if (!sm || app.dragging) {
      app.tip.hide();
      return;
    }
    const time = app.view.time(e.offsetX), here = this.group.at(sm.sm, app.view.place(e.offsetX));
    app.tip.show(e, app.tip.strip(`SM ${sm.sm}${sm.gpc >= 0 ? ` (GPC ${sm.gpc}, TPC ${sm.tpc})` : ''}`, time, here));
  }

  draw() {
    const { app } = this, { view } = app, ui = app.palette.ui, width = GUTTER + view.width;
    const c = fitCanvas(this.canvas, width, this.height);
    c.fillStyle = ui.row;
    c.fillRect(0, 0, width, this.height);
    this.group.want(this.order.map((s) => ({ key: s.sm, sm: s.sm,
      ranges: s.parts.map((p) => [p.node, app.trace.nodes.last[p.node], p.launch.shift]) })), view);
    const shown = this.group.shown;
    if (shown) drawClipped(c, shown.canvas, 0, shown.canvas.height, view.placeX(shown.from), view.placeX(shown.to), 0,
      this.line * this.order.length, view);
    app.drawFolds(c, this.height);
    c.fillStyle = ui.panel;
    c.fillRect(0, 0, GUTTER, this.height);
    this.drawLabels(c, ui);
    app.drawSpan(c, this.height, this.selectedLines());
    c.strokeStyle = ui.line;
    c.beginPath();
    c.moveTo(GUTTER - 0.5, 0);
    c.lineTo(GUTTER - 0.5, this.height);
    c.stroke();
  }

  // [top, bottom] of the selected SMs, or null for all.
  selectedLines() {
    const sms = this.app.selection?.sms;
    if (!sms) return null;
    const lines = this.order.map((s, i) => (sms.includes(s.sm) ? i : -1)).filter((i) => i >= 0);
    return lines.length > 0 ? [Math.min(...lines) * this.line, (Math.max(...lines) + 1) * this.line] : null;
  }

  drawLabels(c, ui) {
    const every = Math.max(1, Math.ceil(13 / this.line)),
      step = [1, 2, 4, 5, 8, 10, 12, 16, 20, 32, 64].find((s) => s >= every) ?? every;
    c.font = this.app.font(10);
    c.textAlign = 'right';
    c.textBaseline = 'middle';
    c.strokeStyle = ui['line-strong'];
    c.fillStyle = ui['ink-soft'];
    c.beginPath();
    this.order.forEach((s, i) => {
      if (i % step !== 0 || (i + 0.5) * this.line > this.height - 5) return;
      const y = (i + 0.5) * this.line;
      c.fillText(`SM ${s.sm}`, GUTTER - 9, Math.max(6, y));
      c.moveTo(GUTTER - 5, Math.round(y) + 0.5);
      c.lineTo(GUTTER, Math.round(y) + 0.5);
    });
    c.stroke();
  }

  paint({ rows, bytes, bins }) {
    const { palette } = this.app;
    this.drawLegend(palette);
    const canvas = new OffscreenCanvas(bins, rows.length), context = canvas.getContext('2d'),
      image = context.createImageData(bins, rows.length);
    const pixels = new Uint32Array(image.data.buffer), cell = this.cellPainter(palette);
    for (let i = 0; i < rows.length * bins; i++) pixels[i] = cell(bytes, i * STRIP_CATEGORIES);
    context.putImageData(image, 0, 0);
    if (this.busy === null) this.measureBusy(rows, bytes, bins, palette);
    return canvas;
  }

  // The names' table is the legend of the activities; a share needs one of its own.
  drawLegend(palette) {
    const legend = byId('heat-legend');
    legend.hidden = this.mode === 'activity' || this.height < 90;
    const ramp = this.mode === 'busy' ? palette.busyRamp : palette.waitRamp;
    const stops = [0, 64, 128, 192, 255].map((i) => rgbToHex(ramp[i])).join();
    legend.firstElementChild.style.background = `linear-gradient(to right, ${stops})`;
  }

  measureBusy(rows, bytes, bins, palette) {
    this.busy = new Map();
    rows.forEach((row, r) => {
      let sum = 0;
      for (let i = r * bins * STRIP_CATEGORIES; i < (r + 1) * bins * STRIP_CATEGORIES; i++) {
        const c = i % STRIP_CATEGORIES;
        if (c !== 0 && !palette.categoryIsWait[c]) sum += bytes[i];
      }
      this.busy.set(row.key, sum);
    });
  }

  // A function from the 16 shares of a cell to its pixel.
  cellPainter(palette) {
    const waits = palette.categoryIsWait, sums = (bytes, at) => {
      let alive = 0, busy = 0, wait = 0;
      for (let c = 0; c < STRIP_CATEGORIES; c++) {
        const v = bytes[at + c];
        alive += v;
        if (waits[c]) wait += v;
        else if (c !== 0) busy += v;
      }
      return { alive, busy, wait };
    };
    const busyRamp = palette.busyRamp.map(packed), waitRamp = palette.waitRamp.map(packed);
    if (this.mode !== 'activity') {
      return (bytes, at) => {
        const { alive, busy, wait } = sums(bytes, at);
        if (alive === 0) return 0;
        return this.mode === 'busy' ? busyRamp[Math.min(255, busy)] : waitRamp[Math.min(255, wait)];
      };
    }
    // The category with the largest share, paler where fewer of the SM's warps are alive in a range.
    const shades = palette.category.map((rgb) => Array.from({ length: 17 },
      (_, i) => packed(mix(palette.groundRgb, rgb, 0.25 + 0.75 * i / 16))));
    return (bytes, at) => {
      let best = 0, inRange = 0;
      for (let c = 1; c < STRIP_CATEGORIES; c++) {
        const v = bytes[at + c];
        inRange += v;
        if (v > (best === 0 ? 0 : bytes[at + best])) best = c;
      }
      if (best === 0) return bytes[at] === 0 ? 0 : shades[0][Math.min(16, bytes[at] >> 4)];
      return shades[best][Math.min(16, Math.round(inRange / 10))];
    };
  }
}
