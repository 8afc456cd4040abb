// SPDX-License-Identifier: Apache-2.0
// stats.js: what the page says in numbers: totals and percentiles per name, and what the warps of a row do over time.
'use strict';

// Percentiles by nearest rank, of whole nanoseconds: the smallest value that at least p percent of all do not exceed.
function nearestRank(sorted, percent) {
  return sorted[Math.max(0, Math.ceil(sorted.length * percent / 100) - 1)];
}

// A sum of whole numbers that may pass 2^53.
function exactSum(values) {
  let high = 0n, low = 0;
  for (let i = 0; i < values.length; i++) {
    low += values[i];
    if (low > 4503599627370496) {
      high += BigInt(low);
      low = 0;
    }
  }
  return high + BigInt(low);
}

// The least index in [from, to) whose event ends after `time`; events of a lane do not overlap and are sorted.
function firstEndingAfter(ends, from, to, time) {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (ends[middle] > time) to = middle;
    else from = middle + 1;
  }
  return from;
}

// The least index in [from, to) whose event starts at or after `time`.
function firstStartingFrom(starts, from, to, time) {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (starts[middle] >= time) to = middle;
    else from = middle + 1;
  }
  return from;
}

// Per class: count, total, mean, p50, p99, max, and a histogram in quarter powers of two, over the events that overlap
// [from, to] in the given intervals of lanes. Durations count in full.
function classStats(trace, from, to, laneRanges) {
  const { start, end, cls, flags } = trace.events, { first } = trace.lanes;
  const counts = new Uint32Array(trace.classes.length), rows = [];
  for (const [laneFrom, laneTo] of laneRanges) {
    for (let lane = laneFrom; lane < laneTo; lane++) {
      // An instant or a range of no length at `from` counts too.
      const a = Math.min(firstEndingAfter(end, first[lane], first[lane + 1], from),
        firstStartingFrom(start, first[lane], first[lane + 1], from));
      const b = firstEndingAfter(start, a, first[lane + 1], to);
      if (a < b) rows.push([a, b]);
      for (let i = a; i < b; i++) counts[cls[i]]++;
    }
  }
  const durations = Array.from(counts, (n) => new Float64Array(n)), filled = new Uint32Array(counts.length);
  for (const [a, b] of rows) {
    for (let i = a; i < b; i++) {
      const c = cls[i];
      durations[c][filled[c]++] = (flags[i] & FLAG.instant) ? 0 : end[i] - start[i];
    }
  }
  const stats = [];
  durations.forEach((values, c) => {
    if (values.length === 0) return;
    values.sort();
    const total = exactSum(values);
    stats.push({ cls: c, count: values.length, total, mean: Number(total) / values.length, min: values[0],
      p50: nearestRank(values, 50),
      p90: nearestRank(values, 90), p99: nearestRank(values, 99), max: values[values.length - 1],
        histogram: histogram(values) });
  });
  return stats;
}

// Counts by duration: bin 0 holds zero, bin i holds [2^((i-1)/4), 2^(i/4)).
function histogram(sorted) {
  const bins = [];
  for (let i = 0; i < sorted.length; i++) {
    const bin = sorted[i] < 1 ? 0 : 1 + Math.floor(Math.log2(sorted[i]) * 4 + 1e-9);
    bins[bin] = (bins[bin] ?? 0) + 1;
  }
  return Array.from(bins, (n) => n ?? 0);
}

// Per role (a number for each warp node): its warps' lifetime, and of it the time that waits and the time that works,
// each counted in the innermost range only. waits[class]: is it a wait?
function roleStats(trace, context, { nodes, roles, count, waits }) {
  const { start, end, cls, parentCls } = trace.events, { first } = trace.lanes, { laneFirst, last } = trace.nodes;
  const sums = Array.from({ length: count }, () => ({ warps: 0, lifetime: 0, wait: 0, work: 0 }));
  const book = (sum, c, time) => {
    if (c === NO_CLASS || trace.classes[c].kind === KIND.lifetime) return;
    if (waits[c]) sum.wait += time;
    else sum.work += time;
  };
  nodes.forEach((node, k) => {
    const sum = sums[roles[k]];
    sum.warps++;
    for (let lane = laneFirst[node]; lane < laneFirst[last[node]]; lane++) {
      if (context.active[lane] === 0) continue;
      for (let i = first[lane]; i < first[lane + 1]; i++) {
        const time = end[i] - start[i];
        if (trace.classes[cls[i]].kind === KIND.lifetime) sum.lifetime += time;
        book(sum, cls[i], time);
        book(sum, parentCls[i], -time);
      }
    }
  });
  return sums;
}

// ---- activity -------------------------------------------------------------------------------------------------------
//
// At each moment a warp is in its innermost open range. A range adds its time to its category and takes it from its
// parent's, so one pass over the slices gives the time in each category without looking for the innermost one. Where a
// slice covers whole bins, only their difference array is touched: the work is bound by slices, not by bins.

const CATEGORIES = 16; // 0: alive outside every range, 15: everything that has no category of its own
const OTHER = CATEGORIES - 1;

// Gives the classes with the most time of their own a category each.
// Returns {of (class -> category), classes (category -> class), own (time by class)}.
function categorize(trace) {
  const { start, end, cls, parentCls, flags } = trace.events, own = new Float64Array(trace.classes.length);
  for (let i = 0; i < trace.events.count; i++) {
    if (flags[i] & FLAG.instant) continue;
    const time = end[i] - start[i];
    own[cls[i]] += time;
    if (parentCls[i] !== NO_CLASS) own[parentCls[i]] -= time;
  }
  const of = new Uint8Array(trace.classes.length).fill(OTHER), classes = new Array(CATEGORIES).fill(-1);
  const ranked = [];
  trace.classes.forEach((c, i) => {
    if (c.kind === KIND.lifetime) of[i] = 0;
    else if (c.kind === KIND.range || c.kind === KIND.token) ranked.push(i);
  });
  ranked.sort((a, b) => own[b] - own[a]).slice(0, OTHER - 1).forEach((c, i) => {
    of[c] = i + 1;
    classes[i + 1] = c;
  });
  return { of, classes, own };
}

// The lanes that tell what a warp does: those of its track; its token ranges where it has no stack range.
function activeLanes(trace) {
  const { kind, laneFirst, last } = trace.nodes, active = new Uint8Array(trace.lanes.node.length);
  for (let node = 0; node < kind.length; node++) {
    if (kind[node] !== NODE.warp) continue;
    const from = laneFirst[node], to = laneFirst[node + 1];
    active.fill(1, from, to);
    if (to - from > 1) continue;
    for (let child = node + 1; child < last[node]; child++) {
      if (kind[child] === NODE.ranges || kind[child] === NODE.token) active.fill(kind[child] === NODE.token ? 2 : 1,
        laneFirst[child], laneFirst[child + 1]);
    }
  }
  return active;
}

// The greatest number of warps alive at once under a set of nodes.
function peakWarps(trace, nodeRanges) {
  const { kind, laneFirst } = trace.nodes, { first } = trace.lanes, { start, end } = trace.events;
  const starts = [], ends = [];
  for (const [from, to] of nodeRanges) {
    for (let node = from; node < to; node++) {
      if (kind[node] !== NODE.warp || laneFirst[node] === laneFirst[node + 1]) continue;
      const lane = laneFirst[node];
      for (let i = first[lane]; i < first[lane + 1]; i++) {
        starts.push(start[i]);
        ends.push(end[i]);
      }
    }
  }
  const s = Float64Array.from(starts).sort(), e = Float64Array.from(ends).sort();
  let peak = 0;
  for (let i = 0, j = 0; i < s.length; i++) {
    while (e[j] < s[i]) j++;
    peak = Math.max(peak, i + 1 - j);
  }
  return peak;
}

// Bytes [bin * 16 + category]: the share of `peak` warps (255: all) that are in the category during the bin. A range of nodes
// may be drawn later or earlier than its time, by a shift.
function activity(trace, context, nodeRanges, peak, from, to, bins, out) {
  const { start, end, cls, parentCls } = trace.events, { first } = trace.lanes, { laneFirst } = trace.nodes;
  const { of } = context.categories, { active } = context;
  const sums = new Float32Array(bins * CATEGORIES), steps = new Float32Array((bins + 1) * CATEGORIES);
  const scale = bins / (to - from);
  const add = (x0, x1, category, sign) => {
    const b0 = Math.min(bins - 1, Math.floor(x0)), b1 = Math.min(bins - 1, Math.floor(x1));
    if (b0 === b1) {
      sums[b0 * CATEGORIES + category] += sign * (x1 - x0);
      return;
    }
    sums[b0 * CATEGORIES + category] += sign * (b0 + 1 - x0);
    sums[b1 * CATEGORIES + category] += sign * (x1 - b1);
    steps[(b0 + 1) * CATEGORIES + category] += sign;
    steps[b1 * CATEGORIES + category] -= sign;
  };
  for (const [nodeFrom, nodeTo, shift = 0] of nodeRanges) {
    const begin = from - shift, limitTime = to - shift;
    for (let lane = laneFirst[nodeFrom]; lane < laneFirst[nodeTo]; lane++) {
      if (active[lane] === 0) continue;
      const limit = first[lane + 1];
      for (let i = firstEndingAfter(end, first[lane], limit, begin); i < limit && start[i] < limitTime; i++) {
        const x0 = (Math.max(start[i], begin) - begin) * scale, x1 = (Math.min(end[i], limitTime) - begin) * scale;
        if (x1 <= x0) continue;
        add(x0, x1, of[cls[i]], 1);
        if (parentCls[i] !== NO_CLASS) add(x0, x1, of[parentCls[i]], -1);
        else if (active[lane] === 2) add(x0, x1, 0, -1);
      }
    }
  }
  const running = new Float32Array(CATEGORIES), unit = 255 / Math.max(1, peak);
  for (let bin = 0; bin < bins; bin++) {
    for (let c = 0; c < CATEGORIES; c++) {
      const k = bin * CATEGORIES + c;
      running[c] += steps[k];
      out[k] = Math.max(0, Math.min(255, (sums[k] + running[c]) * unit + 0.5));
    }
  }
}
