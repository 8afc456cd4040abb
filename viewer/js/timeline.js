// SPDX-License-Identifier: Apache-2.0
// timeline.js: draws the rows that are on the screen and finds what is under the mouse.
//
// The work of a frame is bound by pixels: per lane a binary search finds the first slice in view, and after a slice
// narrower than a pixel the next one looked at is the first that ends past that pixel.
'use strict';

const STRIP_HEIGHT = 16;
const MAX_ARROWS = 200; // of one event

class Timeline {
  constructor(app) {
    this.app = app;
    this.canvas = byId('timeline');
    this.scroller = byId('scroller');
    this.rects = app.trace.classes.map(() => []); // per class: x, y, width, height, ...
    this.group = new StripGroup((...request) => app.askActivity(...request),
      (shown) => paintStacks(app.palette, STRIP_HEIGHT)(shown));
    this.scroller.addEventListener('scroll', () => app.invalidate());
    this.canvas.addEventListener('pointerdown', (e) => this.press(e));
    this.canvas.addEventListener('pointermove', (e) => this.hover(e));
    this.canvas.addEventListener('pointerleave', () => {
      app.tip.hide();
      this.setHover(null);
    });
    this.canvas.addEventListener('wheel', (e) => {
      if (e.ctrlKey || e.altKey || e.metaKey) app.input.wheelZoom(e);
      else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
        e.preventDefault();
        app.view.pan(e.deltaX || e.deltaY);
      }
    }, { passive: false });
    this.canvas.addEventListener('dblclick', (e) => {
      const hit = this.hit(e.offsetX, e.offsetY);
      if (hit?.event >= 0) app.view.fitTo(app.trace.events.start[hit.event], app.trace.events.end[hit.event]);
    });
    this.gutter = new Gutter(app);
    this.hovered = null;
    this.widths = new Map(); // of label texts
  }

  // ---- where things are ---------------------------------------------------------------------------------------------

  get top() { return this.scroller.scrollTop; }

  hit(x, y) {
    const { rows, trace } = this.app, row = rows.rowAt(y + this.top);
    if (row >= rows.nodes.length) return null;
    const node = rows.nodes[row], inside = y + this.top - rows.tops[row];
    const hit = { row, node, event: -1, time: this.app.view.time(x), gutter: x < GUTTER };
    if (hit.gutter) return hit;
    const kind = trace.nodes.kind[node];
    if (kind === NODES.launch) hit.event = this.eventAt(trace.nodes.laneFirst[node], x);
    else if (kind === NODES.warp) {
      const lane = rows.warpLanes(node).lanes.find((l) => inside >= l.y - 1 && inside < l.y + l.height + 1);
      if (lane) hit.event = this.eventAt(lane.lane, x);
    }
    return hit;
  }

  // The event of a lane at x, or the nearest small one within 4 pixels.
  eventAt(lane, x) {
    const { trace, view } = this.app, { first } = trace.lanes, { start, end } = trace.events, time = view.time(x),
      near = 4 * view.nsPerPixel;
    const from = lowerBound(first[lane], first[lane + 1], (i) => end[i] >= time - near);
    let best = -1, distance = near;
    for (let i = from; i < first[lane + 1] && start[i] <= time + near; i++) {
      if (start[i] <= time && end[i] > time) return i;
      const away = time < start[i] ? start[i] - time : time - end[i];
      if (away < distance) {
        best = i;
        distance = away;
      }
      if (i - from > 2000) break;
    }
    return best;
  }

  // Where an event is drawn: {x, y, width, height} in the canvas, or null when its row is not there.
  placeOf(event) {
    const { trace, rows, view } = this.app, lane = trace.laneOf(event), node = trace.lanes.node[lane];
    const warp = trace.ancestor(node, NODES.warp), holder = warp >= 0 ? warp : node, row = rows.rowOfNode.get(holder);
    if (row === undefined) return null;
    const box = warp >= 0 ? rows.warpLanes(warp).lanes.find((l) => l.lane === lane) : { y: 3, height: 18 };
    const x = view.x(trace.events.start[event]);
    return { x, y: rows.tops[row] - this.top + box.y, width: Math.max(1, view.x(trace.events.end[event]) - x),
      height: box.height };
  }

  scrollToNode(node, wholeSubtree = false) {
    const { rows, trace } = this.app, row = rows.rowOfNode.get(node);
    if (row === undefined) return;
    let bottom = rows.tops[row] + rows.heights[row];
    if (wholeSubtree) {
      for (let r = row + 1; r < rows.nodes.length && rows.nodes[r] < trace.nodes.last[node]; r++) bottom = rows.tops[r]
        + rows.heights[r];
    }
    const height = this.scroller.clientHeight, top = rows.tops[row];
    if (bottom > this.top + height) this.scroller.scrollTop = Math.min(top, bottom - height + 4);
    if (top < this.top || bottom - top > height) this.scroller.scrollTop = top;
  }

  // ---- input --------------------------------------------------------------------------------------------------------

  press(e) {
    const { app } = this, hit = this.hit(e.offsetX, e.offsetY);
    this.canvas.focus({ preventScroll: true });
    if (e.button !== 0 || !hit) return;
    if (hit.gutter) {
      app.cursorRow = hit.node;
      app.toggle(hit.node);
      return;
    }
    const click = () => {
      app.cursorRow = hit.node;
      if (hit.event >= 0) app.select(hit.event);
      else if (this.isAway(hit.node)) app.launches.choose(app.trace.launches.find((l) => l.node === hit.node), true);
      else if (app.trace.nodes.kind[hit.node] !== NODES.warp) app.toggle(hit.node);
      else app.select(-1);
    };
    if (e.shiftKey) {
      app.input.dragSelect(this.canvas, e, null, click);
      return;
    }
    let lastX = e.clientX, lastY = e.clientY;
    app.input.drag(this.canvas, e, (at) => {
      app.view.pan(lastX - at.clientX);
      this.scroller.scrollTop += lastY - at.clientY;
      lastX = at.clientX;
      lastY = at.clientY;
    }, click);
  }

  // A launch that is out of view: a click on its row goes there.
  isAway(node) {
    const { trace, view } = this.app;
    if (trace.nodes.kind[node] !== NODES.launch) return false;
    const event = trace.lanes.first[trace.nodes.laneFirst[node]];
    return trace.events.end[event] < view.from || trace.events.start[event] > view.to;
  }

  setHover(event) {
    if (this.hovered === event) return;
    this.hovered = event;
    this.app.invalidate();
  }

  hover(e) {
    const { app } = this, hit = app.dragging ? null : this.hit(e.offsetX, e.offsetY);
    this.canvas.style.cursor = app.dragging ? 'grabbing' : hit
      && (hit.gutter || hit.event >= 0 || app.trace.nodes.kind[hit.node] !== NODES.warp) ? 'pointer' : 'default';
    this.setHover(hit && hit.event >= 0 ? hit.event : null);
    if (!hit || app.dragging) {
      app.tip.hide();
      return;
    }
    const kind = app.trace.nodes.kind[hit.node];
    if (hit.event >= 0) app.tip.show(e, app.tip.event(hit.event));
    else if (hit.gutter) app.tip.show(e, app.tip.row(hit.node));
    else if (kind === NODES.sm || kind === NODES.cta) app.tip.show(e,
      app.tip.strip(app.trace.nodeName(hit.node), hit.time, this.group.at(hit.node, hit.time)));
    else app.tip.hide();
  }

  // ---- drawing ------------------------------------------------------------------------------------------------------

  draw(height) {
    const { app } = this, { view, rows, trace } = app, ui = app.palette.ui, width = GUTTER + view.width;
    const c = fitCanvas(this.canvas, width, height);
    this.context = c;
    c.fillStyle = ui.ground;
    c.fillRect(0, 0, width, height);
    const first = rows.rowAt(this.top), strips = [];
    this.labels = [];
    this.ragged = []; // right ends of ranges that nobody closed
    let row = first;
    for (; row < rows.nodes.length && rows.tops[row] < this.top + height; row++) {
      const node = rows.nodes[row], kind = trace.nodes.kind[node];
      this.drawGround(row, node, kind);
      if (kind === NODES.sm || kind === NODES.cta) strips.push({ key: node, ranges: [[node, trace.nodes.last[node]]] });
    }
    this.drawGrid(height);
    for (let r = first; r < row; r++) this.drawRow(r);
    this.group.want(strips, view);
    this.flushRects();
    this.flushLabels();
    app.drawSpan(c, height, null);
    this.drawArrows(app.selected);
    if (this.hovered !== app.selected) this.drawArrows(this.hovered);
    this.outline(app.selected, 2);
    if (this.hovered !== null && this.hovered !== app.selected) this.outline(this.hovered, 1);
    for (let r = first; r < row; r++) this.gutter.drawRow(c, r, this.top);
    c.strokeStyle = ui.line;
    c.beginPath();
    c.moveTo(GUTTER - 0.5, 0);
    c.lineTo(GUTTER - 0.5, height);
    c.stroke();
    this.drawnRows = row - first;
  }

  drawGround(row, node, kind) {
    const c = this.context, { rows, palette, view } = this.app, ui = palette.ui, y = rows.tops[row] - this.top,
      h = rows.heights[row];
    c.fillStyle = kind === NODES.kernel || kind === NODES.bucket ? ui.group : kind === NODES.warp || kind === NODES.sm
      ? ui.row : ui['row-alt'];
    c.fillRect(0, y, GUTTER + view.width, h);
    c.fillStyle = ui.line;
    c.fillRect(0, y + h - 1, GUTTER + view.width, 1);
  }

  drawGrid(height) {
    const c = this.context, { view, palette } = this.app, step = tickStep(view.nsPerPixel, 84);
    c.fillStyle = palette.ui.line;
    for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) c.fillRect(Math.round(view.x(t)), 0, 1,
      height);
  }

  drawRow(row) {
    const { app } = this, { rows, trace } = app, node = rows.nodes[row], kind = trace.nodes.kind[node],
      y = rows.tops[row] - this.top;
    if (kind === NODES.launch) {
      this.drawSlices(trace.nodes.laneFirst[node], y + 3, 18, true);
      this.drawLaunchHint(node, y + 12);
    }
    else if (kind === NODES.sm || kind === NODES.cta) this.group.draw(this.context, node, app.view, y + 2,
      rows.heights[row] - 4);
    else if (kind === NODES.warp) {
      for (const lane of rows.warpLanes(node).lanes) {
        if (lane.type === 'marker') this.drawMarkers(lane.lane, y + lane.y, lane.height);
        else this.drawSlices(lane.lane, y + lane.y, lane.height, lane.type !== 'life' || lane.height > 10);
      }
    }
  }

  // Launches are often far apart: where one lies out of view, its row says in which direction and how far.
  drawLaunchHint(node, y) {
    const c = this.context, { trace, view, palette } = this.app, event = trace.lanes.first[trace.nodes.laneFirst[node]];
    const { start, end } = trace.events, before = end[event] < view.from;
    if (!this.isAway(node)) return;
    c.font = this.app.font(11);
    c.textBaseline = 'middle';
    c.textAlign = before ? 'left' : 'right';
    c.fillStyle = palette.ui['ink-faint'];
    const away = duration(Math.round(before ? view.from - end[event] : start[event] - view.to)),
      span = duration(end[event] - start[event]);
    c.fillText(before ? `◂ ${away} earlier, ${span} long` : `${away} later, ${span} long ▸`, before ? GUTTER + 6
      : GUTTER + view.width - 6, y);
  }

  // Classes that the search or the chosen name leaves in colour.
  lit(cls) {
    const { app } = this;
    if (app.trace.classes[cls].kind === KINDS.launch) return true;
    if (app.focusClass >= 0) return cls === app.focusClass;
    return app.query.classes === null || app.query.classes[cls] === 1;
  }

  drawSlices(lane, y, height, labelled) {
    const { trace, view } = this.app, { first } = trace.lanes, { start, end, cls, flags } = trace.events,
      limit = first[lane + 1];
    const left = GUTTER, right = GUTTER + view.width, scale = 1 / view.nsPerPixel, base = GUTTER - view.from * scale;
    let i = lowerBound(first[lane], limit, (k) => end[k] >= view.from);
    while (i < limit && start[i] <= view.to) {
      const x0 = start[i] * scale + base, x1 = end[i] * scale + base, rects = this.rects[cls[i]];
      if (x1 - x0 < 1.5) {
        const pixel = Math.floor(x0);
        if (pixel >= left - 1) rects.push(Math.max(left, pixel), y, end[i] === start[i] && height > 6 ? 1.5 : 1,
          height);
        i = this.past(end, i + 1, limit, (pixel + 1 - base) * view.nsPerPixel);
        continue;
      }
      const a = Math.max(left, x0), b = Math.min(right, x1), wide = b - a;
      rects.push(a, y, wide > 3 ? wide - 0.75 : wide, height);
      if ((flags[i] & FLAGS.unclosed) && x1 <= right) this.ragged.push(b, y, height);
      if (labelled && wide > 26) this.labels.push(i, a, y, wide, height);
      i++;
    }
  }

  // The first index from `i` whose slice ends after `time`, by steps that double.
  past(ends, i, limit, time) {
    let step = 1;
    while (i + step < limit && ends[i + step] <= time) {
      i += step;
      step *= 2;
    }
    return lowerBound(i, Math.min(limit, i + step), (k) => ends[k] > time);
  }

  drawMarkers(lane, y, height) {
    const { trace, view } = this.app, { first } = trace.lanes, { start, cls } = trace.events, limit = first[lane + 1];
    const left = GUTTER, scale = 1 / view.nsPerPixel, base = GUTTER - view.from * scale;
    let i = lowerBound(first[lane], limit, (k) => start[k] >= view.from);
    while (i < limit && start[i] <= view.to) {
      const x = start[i] * scale + base, next = this.past(start, i + 1, limit, view.time(Math.floor(x) + 2));
      this.rects[cls[i]].push(Math.max(left, x - 1), y, 2, height);
      const room = (next < limit ? start[next] * scale + base : left + view.width) - x;
      if (room > 12) this.rects[cls[i]].push(x + 1, y, 2, 4, x + 3, y + 1, 1, 2);
      if (room > 40) this.labels.push(i, x + 4, y - 1, room - 4, height + 1);
      i = next;
    }
  }

  flushRects() {
    const c = this.context, { palette } = this.app;
    this.painted = 0;
    this.rects.forEach((rects, cls) => {
      if (rects.length === 0) return;
      this.painted += rects.length / 4;
      c.fillStyle = this.lit(cls) ? palette.fill[cls] : palette.dim[cls];
      for (let k = 0; k < rects.length; k += 4) c.fillRect(rects[k], rects[k + 1], rects[k + 2], rects[k + 3]);
      rects.length = 0;
    });
    c.fillStyle = palette.ui.row;
    for (let k = 0; k < this.ragged.length; k += 3) {
      for (let n = 1; n <= 3; n++) c.fillRect(this.ragged[k] - 1 - 3 * n, this.ragged[k + 1], 1.5, this.ragged[k + 2]);
    }
  }

  flushLabels() {
    const c = this.context, { app } = this, { trace, palette } = app;
    c.font = app.font(11);
    c.textBaseline = 'middle';
    c.textAlign = 'left';
    for (let k = 0; k < this.labels.length; k += 5) {
      const i = this.labels[k], cls = trace.events.cls[i], text = this.labelText(c, i, this.labels[k + 3] - 7);
      if (text === '') continue;
      c.fillStyle = trace.isInstant(i) ? palette.ui['ink-soft'] : this.lit(cls) ? palette.ink[cls]
        : palette.ui['ink-faint'];
      c.fillText(text, this.labels[k + 1] + 4, this.labels[k + 2] + this.labels[k + 4] / 2 + 0.5);
    }
  }

  textWidth(c, text) {
    let width = this.widths.get(text);
    if (width === undefined) {
      if (this.widths.size > 20000) this.widths.clear();
      width = c.measureText(text).width;
      this.widths.set(text, width);
    }
    return width;
  }

  // The name with its payload; where that is too long, the payload keeps its place.
  labelText(c, i, room) {
    const { trace } = this.app, name = trace.eventKind(i) === KINDS.launch ? this.launchText(i) : trace.eventName(i),
      payload = trace.payloadText(i);
    const tail = payload === null ? '' : ` ${payload}`, width = this.textWidth(c, name + tail);
    if (width <= room) return name + tail;
    for (let letters = Math.floor(room / (width / (name.length + tail.length))); letters >= 3; letters--) {
      const text = tail.length > 0 && letters - tail.length >= 3 ? elide(name, letters - tail.length) + tail
        : elide(name, letters);
      if (this.textWidth(c, text) <= room) return text;
    }
    return '';
  }

  launchText(i) {
    const { trace } = this.app, { warps, sms } = trace.extra.get(i) ?? {};
    return warps === undefined ? trace.eventName(i)
      : `${elide(trace.eventName(i), 60)}  ·  ${plural(warps, 'warp')} on ${plural(sms, 'SM')}`;
  }

  // The arrows of an event whose other end is in an open row: from the end of the one to the begin of the other.
  drawArrows(event) {
    if (event === null || event < 0) return;
    const c = this.context, { view, palette, trace } = this.app;
    c.save();
    c.beginPath();
    c.rect(GUTTER, 0, view.width, this.canvas.clientHeight);
    c.clip();
    c.strokeStyle = c.fillStyle = palette.ui.ink;
    for (const { from, to } of trace.arrowsOf(event).slice(0, MAX_ARROWS)) {
      const a = this.placeOf(from), b = this.placeOf(to);
      if (!a || !b) continue;
      // It leaves where the other one begins, where that lies within the first.
      const x1 = b.x, x0 = Math.max(a.x, Math.min(a.x + a.width, x1 - 12));
      const y0 = a.y + a.height / 2, y1 = b.y + b.height / 2;
      const bend = Math.max(10, Math.abs(x1 - x0) / 3);
      c.beginPath();
      c.moveTo(x0, y0);
      c.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 5, y1);
      c.stroke();
      c.beginPath();
      c.moveTo(x1, y1);
      c.lineTo(x1 - 6, y1 - 3);
      c.lineTo(x1 - 6, y1 + 3);
      c.fill();
    }
    c.restore();
  }

  outline(event, width) {
    if (event === null || event < 0) return;
    const place = this.placeOf(event), c = this.context;
    if (!place || place.x > GUTTER + this.app.view.width || place.x + place.width < GUTTER) return;
    const x = Math.max(GUTTER, place.x) - 1, right = Math.min(GUTTER + this.app.view.width, place.x + place.width) + 1;
    c.strokeStyle = this.app.palette.ui.ink;
    c.lineWidth = width;
    c.strokeRect(x, place.y - 1, Math.max(3, right - x), place.height + 2);
    c.lineWidth = 1;
  }
}
