// SPDX-License-Identifier: Apache-2.0
// gutter.js: the labels left of the timeline's rows, with what opens and closes them.
'use strict';

class Gutter {
  constructor(app) {
    this.app = app;
  }

  drawRow(c, row, top) {
    const { app } = this, { rows, trace, palette } = app, ui = palette.ui, node = rows.nodes[row],
      kind = trace.nodes.kind[node];
    const y = rows.tops[row] - top, h = rows.heights[row];
    c.fillStyle = kind === NODES.kernel || kind === NODES.bucket ? ui.group : ui.panel;
    c.fillRect(0, y, GUTTER, h - 1);
    const indent = { [NODES.kernel]: 6, [NODES.bucket]: 12, [NODES.launch]: 16, [NODES.sm]: 26, [NODES.cta]: 36,
      [NODES.warp]: 48 }[kind];
    const middle = kind === NODES.warp ? y + 12 : y + h / 2;
    if (kind !== NODES.warp) this.drawChevron(c, ui, indent, middle, rows.open[node]);
    c.font = app.font(11, kind === NODES.kernel || kind === NODES.launch ? 600 : 400);
    c.textAlign = 'left';
    c.textBaseline = 'middle';
    c.fillStyle = kind === NODES.kernel || kind === NODES.launch ? ui.ink : ui['ink-soft'];
    const x = indent + (kind === NODES.warp ? 0 : 12);
    c.fillText(elide(this.rowLabel(node, kind), Math.floor((GUTTER - x - 6) / 6.1)), x, middle);
    if (kind === NODES.warp) this.drawLaneLabels(c, ui, node, y);
    if (app.cursorRow === node && document.activeElement === app.timeline.canvas) {
      c.strokeStyle = ui.select;
      c.strokeRect(1.5, y + 0.5, GUTTER - 4, h - 2);
    }
  }

  rowLabel(node, kind) {
    const { trace, rows } = this.app, name = trace.nodeName(node);
    if (kind === NODES.sm) return name.replace('(GPC ', '· GPC ').replace(',', '').replace(')', '');
    if (kind === NODES.cta && !rows.open[node]) return `${name} · ${rows.childCount(node)} warps`;
    if (kind === NODES.warp) {
      const role = trace.warpRole[trace.warpIndex[node]];
      return role === '-' ? name : `${name} · ${role}`;
    }
    return name;
  }

  drawLaneLabels(c, ui, node, y) {
    c.font = this.app.font(10);
    c.fillStyle = ui['ink-faint'];
    c.textAlign = 'right';
    for (const lane of this.app.rows.warpLanes(node).lanes) {
      if (lane.label && lane.y > 14) c.fillText(elide(lane.label, 24), GUTTER - 6, y + lane.y + lane.height / 2);
    }
    c.textAlign = 'left';
  }

  drawChevron(c, ui, x, y, open) {
    c.fillStyle = ui['ink-soft'];
    c.beginPath();
    if (open) {
      c.moveTo(x, y - 2);
      c.lineTo(x + 8, y - 2);
      c.lineTo(x + 4, y + 3);
    } else {
      c.moveTo(x + 1, y - 4);
      c.lineTo(x + 6, y);
      c.lineTo(x + 1, y + 4);
    }
    c.fill();
  }
}
