// SPDX-License-Identifier: Apache-2.0
// ruler.js: the whole trace as a thin overview with the view marked in it, and the scale of the view.
//
//     | [=====view====]        launches of the whole trace         |   drag: moves the view
//     | 2 µs      4 µs      6 µs                                   |   drag: selects a span
'use strict';

const OVERVIEW_HEIGHT = 18, SCALE_HEIGHT = 22, RULER_HEIGHT = OVERVIEW_HEIGHT + SCALE_HEIGHT;

class Ruler {
  constructor(app) {
    this.app = app;
    this.canvas = byId('ruler');
    this.canvas.addEventListener('pointerdown', (e) => this.press(e));
    this.canvas.addEventListener('wheel', (e) => app.input.wheelZoom(e), { passive: false });
  }

  overviewX(time) { return this.overviewPlaceX(this.app.view.fold.place(time)); }
  overviewPlaceX(place) { return GUTTER + place / this.app.view.span * this.app.view.width; }

  press(e) {
    const { app } = this;
    if (e.button !== 0 || e.offsetX < GUTTER) return;
    if (e.offsetY >= OVERVIEW_HEIGHT) {
      app.input.dragSelect(this.canvas, e, null);
      return;
    }
    const length = app.view.to - app.view.from;
    const move = (at) => {
      const middle = (at.offsetX - GUTTER) / app.view.width * app.view.span;
      app.view.set(middle - length / 2, middle + length / 2);
    };
    move(e);
    app.input.drag(this.canvas, e, move);
  }

  draw() {
    const { app } = this, { view, trace } = app, ui = app.palette.ui, width = GUTTER + view.width;
    const c = fitCanvas(this.canvas, width, RULER_HEIGHT);
    c.fillStyle = ui.panel;
    c.fillRect(0, 0, width, RULER_HEIGHT);
    this.drawOverview(c, ui, trace, view);
    c.strokeStyle = ui.line;
    c.beginPath();
    c.moveTo(0, OVERVIEW_HEIGHT + 0.5);
    c.lineTo(width, OVERVIEW_HEIGHT + 0.5);
    c.moveTo(GUTTER - 0.5, 0);
    c.lineTo(GUTTER - 0.5, RULER_HEIGHT);
    c.stroke();
    this.drawScale(c, ui, view, width);
    app.drawFolds(c, RULER_HEIGHT, OVERVIEW_HEIGHT);
    this.drawSelection(c, ui, view);
    c.fillStyle = ui['ink-soft'];
    c.font = app.font(11);
    c.textBaseline = 'middle';
    c.textAlign = 'left';
    c.fillText(`whole trace  ${duration(trace.span)}`, 10, OVERVIEW_HEIGHT / 2 + 1);
    const length = Math.round(view.fold.time(view.to) - view.fold.time(view.from));
    c.fillText(`view  ${duration(length)}`, 10, OVERVIEW_HEIGHT + SCALE_HEIGHT / 2 + 1);
  }

  drawOverview(c, ui, trace, view) {
    c.fillStyle = ui.launch;
    let last = -1;
    for (const launch of trace.launches) {
      const x0 = this.overviewX(launch.start), x1 = Math.max(x0 + 1, this.overviewX(launch.end));
      if (x1 <= last) continue;
      c.fillRect(Math.max(x0, last + 0.5), 6, x1 - Math.max(x0, last + 0.5), 7);
      last = x1;
    }
    const x0 = Math.max(GUTTER, this.overviewPlaceX(view.from)),
      x1 = Math.min(GUTTER + view.width, Math.max(x0 + 3, this.overviewPlaceX(view.to)));
    c.fillStyle = ui.select;
    c.globalAlpha = 0.22;
    c.fillRect(x0, 1, x1 - x0, OVERVIEW_HEIGHT - 2);
    c.globalAlpha = 1;
    c.strokeStyle = ui.select;
    c.strokeRect(x0 + 0.5, 1.5, Math.max(1, x1 - x0 - 1), OVERVIEW_HEIGHT - 3);
  }

  drawScale(c, ui, view, width) {
    const step = tickStep(view.nsPerPixel, 84);
    c.font = this.app.font(11);
    c.textBaseline = 'middle';
    c.textAlign = 'left';
    c.fillStyle = ui['ink-soft'];
    c.strokeStyle = ui['line-strong'];
    c.save();
    c.beginPath();
    c.rect(GUTTER, OVERVIEW_HEIGHT, view.width, SCALE_HEIGHT);
    c.clip();
    c.beginPath();
    let free = -Infinity; // right of the last label
    for (const run of view.fold.between(view.from, view.to)) {
      for (let t = Math.floor(run.from / step) * step; t <= run.to; t += step) {
        for (let k = 0; k < 5; k++) {
          const time = t + step * k / 5, x = Math.round(view.placeX(time + run.shift)) + 0.5;
          if (view.fold.on && (time < run.from || time > run.to)) continue;
          c.moveTo(x, RULER_HEIGHT - (k === 0 ? 6 : 3));
          c.lineTo(x, RULER_HEIGHT);
          if (k > 0 || x < free) continue;
          const label = timeLabel(t, step), right = x + 4 + c.measureText(label).width;
          if (right > width) continue; // "6" would be left of "6 ms"
          c.fillText(label, x + 4, RULER_HEIGHT - 10);
          if (view.fold.on) free = right + 8;
        }
      }
    }
    c.moveTo(0, RULER_HEIGHT - 0.5);
    c.lineTo(width, RULER_HEIGHT - 0.5);
    c.stroke();
    c.restore();
  }

  drawSelection(c, ui, view) {
    const span = this.app.selection;
    if (!span) return;
    const x0 = Math.max(GUTTER, view.x(span.from)), x1 = Math.min(GUTTER + view.width, view.x(span.to));
    if (x1 <= x0) return;
    c.fillStyle = ui.select;
    c.fillRect(x0, RULER_HEIGHT - 4, x1 - x0, 4);
    const text = duration(Math.round(span.to - span.from));
    c.font = this.app.font(11, 600);
    const w = c.measureText(text).width + 10,
      x = Math.max(GUTTER, Math.min(GUTTER + view.width - w, (x0 + x1 - w) / 2));
    c.fillRect(x, OVERVIEW_HEIGHT + 2, w, 15);
    c.fillStyle = inkOn(ui.select);
    c.textAlign = 'center';
    c.fillText(text, x + w / 2, OVERVIEW_HEIGHT + 10);
  }
}
