// SPDX-License-Identifier: Apache-2.0
// rows.js: which nodes are open, and where the rows of the timeline stand.
//
//     kernel > launch > SM (a strip of what its warps do) > CTA (a strip)
//       > warp (lifetime, ranges by depth, markers, tokens)
'use strict';

const ROW_HEIGHT = { [NODES.kernel]: 22, [NODES.bucket]: 20, [NODES.launch]: 24, [NODES.sm]: 20, [NODES.cta]: 17 };
const SMALL_TRACE = 12; // warps: these are all shown at once
const LANE = { life: 5, lifeAlone: 13, range: 15, marker: 11, token: 14, gap: 1, pad: 3 };

class Rows {
  constructor(trace) {
    this.trace = trace;
    this.open = new Uint8Array(trace.nodeCount);
    this.filter = null;
    const { kind } = trace.nodes;
    for (let node = 0; node < trace.nodeCount; node++) {
      this.open[node] = kind[node] === NODES.root || kind[node] === NODES.kernel || kind[node] === NODES.warp ||
        (kind[node] === NODES.launch && trace.launches.length <= 4) || trace.warps.length <= SMALL_TRACE ? 1 : 0;
    }
    this.lanesOf = new Map();
    this.rebuild();
  }

  rebuild() {
    const { kind, last } = this.trace.nodes;
    this.nodes = [];
    this.tops = [];
    this.heights = [];
    this.rowOfNode = new Map();
    let y = 0;
    for (let node = 1; node < this.trace.nodeCount;) {
      if ((this.filter && !this.filter[node]) || kind[node] === NODES.diagnostics) {
        node = last[node];
        continue;
      }
      const height = kind[node] === NODES.warp ? this.warpLanes(node).height : ROW_HEIGHT[kind[node]];
      this.rowOfNode.set(node, this.nodes.length);
      this.nodes.push(node);
      this.tops.push(y);
      this.heights.push(height);
      y += height;
      node = kind[node] === NODES.warp || !this.open[node] ? last[node] : node + 1;
    }
    this.height = y;
  }

  // The lanes of a warp's row: [{lane, y, height, type, label}], with the row's height.
  warpLanes(node) {
    let layout = this.lanesOf.get(node);
    if (layout) return layout;
    const { laneFirst, last, kind, a } = this.trace.nodes, lanes = [];
    const own = laneFirst[node + 1] - laneFirst[node];
    let y = LANE.pad;
    const add = (lane, height, type, label) => {
      lanes.push({ lane, y, height, type, label });
      y += height + LANE.gap;
    };
    for (let k = 0; k < own; k++) {
      if (k === 0) add(laneFirst[node], last[node] - node === 1 && own === 1 ? LANE.lifeAlone : LANE.life, 'life', '');
      else add(laneFirst[node] + k, LANE.range, 'range', '');
    }
    for (let child = node + 1; child < last[node]; child++) {
      const prefix = a[child] >= 0 ? `lane ${a[child]} ` : '', name = this.trace.nodeName(child);
      for (let lane = laneFirst[child]; lane < laneFirst[child + 1]; lane++) {
        const label = lane > laneFirst[child] ? '' : kind[child] === NODES.markers ? `${prefix}markers`.trim() : name;
        if (kind[child] === NODES.markers) add(lane, LANE.marker, 'marker', label);
        else add(lane, kind[child] === NODES.token ? LANE.token : LANE.range, kind[child] === NODES.token ? 'token'
          : 'range', label);
      }
    }
    layout = { lanes, height: Math.max(17, y + LANE.pad) };
    if (this.lanesOf.size > 50000) this.lanesOf.clear();
    this.lanesOf.set(node, layout);
    return layout;
  }

  // The first row whose bottom lies below y.
  rowAt(y) {
    return lowerBound(0, this.nodes.length, (i) => this.tops[i] + this.heights[i] > y);
  }

  childCount(node) {
    const { last } = this.trace.nodes;
    let count = 0;
    for (let child = node + 1; child < last[node]; child = last[child]) count++;
    return count;
  }

  // Opens or closes a node. An SM with few CTAs opens down to its warps: one click shows their ranges.
  toggle(node, open = !this.open[node]) {
    const { kind, last } = this.trace.nodes;
    if (kind[node] === NODES.warp) return;
    this.open[node] = open ? 1 : 0;
    if (open && kind[node] === NODES.sm && this.childCount(node) <= 4) {
      for (let child = node + 1; child < last[node]; child = last[child]) this.open[child] = 1;
    }
    this.rebuild();
  }

  // Opens all that is above a node; true when something changed.
  openAncestors(node) {
    let changed = false;
    for (let at = this.trace.nodes.parent[node]; at >= 0; at = this.trace.nodes.parent[at]) {
      if (!this.open[at]) changed = true;
      this.open[at] = 1;
    }
    if (changed) this.rebuild();
    return changed;
  }

  // Shows only the nodes that are marked; few of them are opened down to the warps.
  setFilter(marks, warps) {
    this.filter = marks;
    if (marks && warps <= 48) {
      const { kind } = this.trace.nodes;
      for (let node = 0; node < this.trace.nodeCount; node++) if (marks[node]
        && kind[node] < NODES.warp) this.open[node] = 1;
    }
    this.rebuild();
  }
}
