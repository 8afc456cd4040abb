// SPDX-License-Identifier: Apache-2.0
// timeline.js: draws the rows that are on the screen and finds what is under the mouse.
//
// The work of a frame is bound by pixels: per lane a binary search finds the first slice in view, and after a slice
// narrower than a pixel the next one looked at is the first that ends past that pixel.
'use strict';

const STRIP_HEIGHT = 16;
const MAX_ARROWS = 200; // of one event
const NEAR = 4;         // pixels: a small event so near the mouse is meant

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
      if (hit?.event) app.view.fitTo(hit.event.start, hit.event.end);
    });
    this.gutter = new Gutter(app);
    this.hovered = null; // event
    this.widths = new Map(); // of label texts
  }

  // ---- where things are ---------------------------------------------------------------------------------------------

  get top() { return this.scroller.scrollTop; }

  hit(x, y) {
    const { rows, trace } = this.app, row = rows.rowAt(y + this.top);
    if (row >= rows.nodes.length) return null;
    const node = rows.nodes[row], inside = y + this.top - rows.tops[row];
    const hit = { row, node, lane: -1, event: null, time: this.app.view.time(x), gutter: x < GUTTER };
    if (hit.gutter) return hit;
    const kind = trace.nodes.kind[node];
    if (kind === NODES.launch) hit.lane = trace.nodes.laneFirst[node];
    else if (kind === NODES.warp) {
      hit.lane = rows.warpLanes(node).lanes.find((l) => inside >= l.y - 1 && inside < l.y + l.height + 1)?.lane ?? -1;
    }
    if (hit.lane >= 0) hit.event = this.eventAt(hit.lane, x);
    return hit;
  }

  // The view in the times of a lane: its launch may be drawn elsewhere than at its time.
  viewOf(lane) {
    const { trace, view } = this.app;
    return view.fold.on ? view.shifted(trace.launchOf(trace.lanes.node[lane])?.shift ?? 0) : view;
  }

  timeIn(lane, x) { return this.app.view.place(x) - this.app.view.from + this.viewOf(lane).from; }

  // The event of a lane at x, or the nearest small one within 4 pixels; of what is here.
  eventAt(lane, x) {
    const { source } = this.app, view = this.viewOf(lane), near = NEAR * view.nsPerPixel;
    const time = this.timeIn(lane, x);
    let best = null, distance = near;
    for (const piece of source.pieces(lane, view)) {
      const { start, end } = piece.columns, from = lowerBound(piece.first, piece.limit, (i) => end[i] >= time - near);
      for (let i = from; i < piece.limit && start[i] <= time + near && i - from < 2000; i++) {
        const inside = start[i] <= time && end[i] > time, away = time < start[i] ? start[i] - time : time - end[i];
        if (!inside && away >= distance) continue;
        best = { piece, i };
        distance = away;
        if (inside) return source.eventIn(piece, lane, i);
      }
    }
    return best && source.eventIn(best.piece, lane, best.i);
  }

  // Where an event is drawn: {x, y, width, height} in the canvas, or null when its row is not there.
  placeOf({ lane, start, end }) {
    const { trace, rows, view } = this.app, node = trace.lanes.node[lane];
    const warp = trace.ancestor(node, NODES.warp), holder = warp >= 0 ? warp : node, row = rows.rowOfNode.get(holder);
    if (row === undefined) return null;
    const box = warp >= 0 ? rows.warpLanes(warp).lanes.find((l) => l.lane === lane) : { y: 3, height: 18 };
    const x = GUTTER + (start - this.viewOf(lane).from) / view.nsPerPixel, width = (end - start) / view.nsPerPixel;
    return { x, y: rows.tops[row] - this.top + box.y, width: Math.max(1, width), height: box.height };
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
      const found = hit.event ? hit.event.event : -1, kind = app.trace.nodes.kind[hit.node];
      if (found >= 0 || kind === NODES.warp) {
        const time = hit.lane < 0 ? 0 : this.timeIn(hit.lane, e.offsetX), near = NEAR * app.view.nsPerPixel;
        app.source.eventAt(hit.lane, time, near, (event) => app.select(event), hit.event);
      } else if (this.isAway(hit.node)) app.launches.choose(app.trace.launchAt.get(hit.node), true);
      else app.toggle(hit.node);
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
    const { trace, view } = this.app, launch = trace.launchAt.get(node);
    return launch !== undefined && (launch.end + launch.shift < view.from || launch.start + launch.shift > view.to);
  }

  setHover(event) {
    if (this.hovered?.event === event?.event) return;
    this.hovered = event;
    this.app.invalidate();
  }

  hover(e) {
    const { app } = this, hit = app.dragging ? null : this.hit(e.offsetX, e.offsetY);
    this.canvas.style.cursor = app.dragging ? 'grabbing' : hit
      && (hit.gutter || hit.event || app.trace.nodes.kind[hit.node] !== NODES.warp) ? 'pointer' : 'default';
    this.setHover(hit?.event ?? null);
    if (!hit || app.dragging) {
      app.tip.hide();
      return;
    }
    const kind = app.trace.nodes.kind[hit.node];
    if (hit.event) this.showEvent(e, hit.event);
    else if (hit.gutter) app.tip.show(e, app.tip.row(hit.node));
    else if (kind === NODES.sm || kind === NODES.cta) app.tip.show(e,
      app.tip.strip(app.trace.nodeName(hit.node), hit.time, this.group.at(hit.node, app.view.place(e.offsetX))));
    else app.tip.hide();
  }

  // What is shown may lack some fields until the server sends them.
  showEvent(e, event) {
    const { app } = this;
    app.tip.show(e, app.tip.event(event));
    if (event.whole !== false) return;
    clearTimeout(this.asking);
    this.asking = setTimeout(() => app.source.get(event.event, (whole) => {
      if (this.hovered?.event !== event.event) return;
      this.hovered = whole;
      app.tip.show(e, app.tip.event(whole));
    }), 120);
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
      if (kind === NODES.sm || kind === NODES.cta) strips.push({ key: node,
        ranges: [[node, trace.nodes.last[node], trace.launchOf(node)?.shift ?? 0]] });
    }
    this.drawGrid(height);
    for (let r = first; r < row; r++) this.drawRow(r);
    this.group.want(strips, view);
    app.source.want(first, row, view);
    this.flushRects();
    this.flushLabels();
    app.drawSpan(c, height, null);
    const selected = app.selectedEvent, hovered = this.hovered?.event === app.selected ? null : this.hovered;
    for (const event of [selected, hovered]) if (event) this.drawArrows(event.event);
    if (selected) this.outline(selected, 2);
    if (hovered) this.outline(hovered, 1);
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
    for (const { from, to, shift } of view.fold.between(view.from, view.to)) {
      for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
        c.fillRect(Math.round(view.placeX(t + shift)), 0, 1, height);
      }
    }
    this.app.drawFolds(c, height);
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
    if (!this.isAway(node)) return;
    const c = this.context, { trace, view, palette } = this.app, { start, end, shift } = trace.launchAt.get(node);
    const before = end + shift < view.from, span = duration(end - start);
    c.font = this.app.font(11);
    c.textBaseline = 'middle';
    c.textAlign = before ? 'left' : 'right';
    c.fillStyle = palette.ui['ink-faint'];
    const away = duration(Math.round(before ? view.fold.time(view.from) - end : start - view.fold.time(view.to)));
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

  // Of a coarse piece, a small slice stands for more than a pixel and is drawn as wide.
  drawSlices(lane, y, height, labelled) {
    const { source } = this.app, view = this.viewOf(lane), left = GUTTER, right = GUTTER + view.width,
      scale = 1 / view.nsPerPixel, base = GUTTER - view.from * scale, pieces = source.pieces(lane, view);
    if (pieces.length === 0) this.drawComing(lane, y, height);
    for (const piece of pieces) {
      const { columns, limit, again, coarse } = piece, { start, end, cls, flags } = columns,
        from = Math.max(view.from, piece.from), to = Math.min(view.to, piece.to);
      let i = lowerBound(piece.first, limit, (k) => end[k] >= from);
      while (again && i < limit && start[i] < from) i++; // the piece before has drawn it
      while (i < limit && start[i] <= to) {
        const x0 = start[i] * scale + base, x1 = Math.max(end[i], Math.min(start[i] + coarse, piece.to)) * scale + base,
          rects = this.rects[cls[i]];
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
        if (labelled && wide > 26) this.labels.push(columns, i, a, y, wide, height);
        i++;
      }
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

  // Nothing of a lane is here yet: a pale bar for as long as its warp lives.
  drawComing(lane, y, height) {
    const { trace, source, view, palette } = this.app, warp = trace.ancestor(trace.lanes.node[lane], NODES.warp);
    const span = warp >= 0 ? source.warpSpan(warp) : null;
    if (!span) return;
    const [a, b] = span.map((t) => Math.max(GUTTER, Math.min(GUTTER + view.width, view.x(t))));
    this.context.fillStyle = palette.ui.line;
    this.context.fillRect(a, y, b - a, height);
  }

  drawMarkers(lane, y, height) {
    const { source } = this.app, view = this.viewOf(lane), left = GUTTER, scale = 1 / view.nsPerPixel,
      base = GUTTER - view.from * scale;
    for (const { columns, first, limit, from, to } of source.pieces(lane, view)) {
      const { start, cls } = columns, last = limit > first ? start[limit - 1] : -Infinity; // may lie past the piece
      let i = lowerBound(first, limit, (k) => start[k] >= view.from && start[k] >= from);
      while (i < limit && start[i] <= view.to && start[i] < to) {
        const x = start[i] * scale + base;
        const next = this.past(start, i + 1, limit, (Math.floor(x) + 2 - base) * view.nsPerPixel);
        this.rects[cls[i]].push(Math.max(left, x - 1), y, 2, height);
        const bound = next < limit || last >= to ? start[Math.min(next, limit - 1)] * scale + base : left + view.width;
        const room = bound - x;
        if (room > 12) this.rects[cls[i]].push(x + 1, y, 2, 4, x + 3, y + 1, 1, 2);
        if (room > 40) this.labels.push(columns, i, x + 4, y - 1, room - 4, height + 1);
        i = next;
      }
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
    for (let k = 0; k < this.labels.length; k += 6) {
      const columns = this.labels[k], i = this.labels[k + 1], cls = columns.cls[i];
      const text = this.labelText(c, columns, i, this.labels[k + 4] - 7);
      if (text === '') continue;
      c.fillStyle = columns.flags[i] & FLAGS.instant ? palette.ui['ink-soft'] : this.lit(cls) ? palette.ink[cls]
        : palette.ui['ink-faint'];
      c.fillText(text, this.labels[k + 2] + 4, this.labels[k + 3] + this.labels[k + 5] / 2 + 0.5);
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
  labelText(c, columns, i, room) {
    const { trace } = this.app, cls = columns.cls[i], type = columns.payloadType[i];
    const name = trace.classes[cls].kind === KINDS.launch ? this.launchText(columns.event ? columns.event[i] : i)
      : trace.className(cls);
    const payload = type === 0 ? null : trace.wordText(type, columns.payload[2 * i], columns.payload[2 * i + 1]);
    const tail = payload === null ? '' : ` ${payload}`, width = this.textWidth(c, name + tail);
    if (width <= room) return name + tail;
    for (let letters = Math.floor(room / (width / (name.length + tail.length))); letters >= 3; letters--) {
      const text = tail.length > 0 && letters - tail.length >= 3 ? elide(name, letters - tail.length) + tail
        : elide(name, letters);
      if (this.textWidth(c, text) <= room) return text;
    }
    return '';
  }

  launchText(event) {
    const { kernel, extra: { warps, sms } } = this.app.trace.launchOfEvent.get(event);
    return warps === undefined ? kernel : `${elide(kernel, 60)}  ·  ${plural(warps, 'warp')} on ${plural(sms, 'SM')}`;
  }

  // The arrows of an event whose other end is in an open row: from the end of the one to the begin of the other.
  drawArrows(event) {
    const c = this.context, { view, palette, source } = this.app;
    c.save();
    c.beginPath();
    c.rect(GUTTER, 0, view.width, this.canvas.clientHeight);
    c.clip();
    c.strokeStyle = c.fillStyle = palette.ui.ink;
    for (const { from, to } of source.arrowsOf(event).slice(0, MAX_ARROWS)) {
      const ends = [source.at(from), source.at(to)], [a, b] = ends.map((e) => e && this.placeOf(e));
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
    const place = this.placeOf(event), c = this.context;
    if (!place || place.x > GUTTER + this.app.view.width || place.x + place.width < GUTTER) return;
    const x = Math.max(GUTTER, place.x) - 1, right = Math.min(GUTTER + this.app.view.width, place.x + place.width) + 1;
    c.strokeStyle = this.app.palette.ui.ink;
    c.lineWidth = width;
    c.strokeRect(x, place.y - 1, Math.max(3, right - x), place.height + 2);
    c.lineWidth = 1;
  }
}
