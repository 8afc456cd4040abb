// SPDX-License-Identifier: Apache-2.0
// query.js: the search line. Words look for names; key:value narrows the rows.
//
//     mma sm:12 cta:0,0,4 warp:4-7 launch:0 kernel:gemm role:mma_tile
//
// Numbers: a,b and a-b; a CTA: x,y,z with * for any; names: a part, or /regex/.
'use strict';

function parseQuery(text) {
  const query = { words: [], sm: null, warp: null, cta: null, ctaText: '', launch: null, kernel: null, role: null,
    bad: [] };
  for (const term of text.trim().split(/\s+/).filter(Boolean)) {
    const match = /^(sm|warp|cta|launch|kernel|role):(.*)$/i.exec(term);
    if (!match) {
      query.words.push(matcher(term, query));
      continue;
    }
    const [, key, value] = [match[0], match[1].toLowerCase(), match[2]];
    if (value === '') continue;
    if (key === 'kernel' || key === 'role') query[key] = matcher(value, query);
    else if (key === 'cta') {
      query.cta = parseCta(value, query);
      query.ctaText = value.replace(/[()]/g, '');
    }
    else query[key] = parseNumbers(value, key, query);
  }
  return query;
}

function matcher(term, query) {
  if (term.length > 1 && term.startsWith('/')) {
    try {
      const pattern = new RegExp(term.replace(/^\/|\/$/g, ''), 'i');
      return (name) => pattern.test(name);
    } catch (error) {
      query.bad.push(`${term} is no regular expression`);
      return () => false;
    }
  }
  const low = term.toLowerCase();
  return (name) => name.toLowerCase().includes(low);
}

function parseNumbers(value, key, query) {
  const spans = [];
  for (const part of value.split(',').filter(Boolean)) {
    const match = /^(\d+)(?:(?:-|\.\.)(\d+))?$/.exec(part);
    if (!match) query.bad.push(`${key}:${part} is no number`);
    else spans.push([Number(match[1]), Number(match[2] ?? match[1])]);
  }
  return (n) => spans.some(([a, b]) => n >= a && n <= b);
}

function parseCta(value, query) {
  const parts = value.replace(/[()]/g, '').split(',');
  if (parts.length > 3 || parts.some((p) => !/^(\d+|\*?)$/.test(p))) query.bad.push(`cta:${value} is not x,y,z`);
  return (cta) => parts.every((p, i) => p === '' || p === '*' || cta[i] === Number(p));
}

// What a query selects: rows (null: all) and classes (null: all).
function resolveQuery(trace, text) {
  const query = parseQuery(text), result = { text, bad: query.bad, nodes: null, classes: null,
    warps: trace.warps.length, terms: query };
  if (query.words.length > 0) {
    result.classes = Uint8Array.from(trace.classes,
      (c) => (c.kind !== KINDS.diagnostic && query.words.every((w) => w(trace.strings[c.name])) ? 1 : 0));
  }
  const narrows = query.sm || query.warp || query.cta || query.launch || query.kernel || query.role;
  if (!narrows) return result;
  const { kind, a, b, c, parent, last } = trace.nodes;
  result.nodes = new Uint8Array(trace.nodeCount);
  result.warps = 0;
  let launch = null, smFits = true, ctaFits = true;
  for (let node = 0; node < trace.nodeCount; node++) {
    if (kind[node] === NODES.launch) launch = trace.launchAt.get(node) ?? null;
    else if (kind[node] === NODES.sm) smFits = !query.sm || query.sm(a[node]);
    else if (kind[node] === NODES.cta) ctaFits = !query.cta || query.cta([a[node], b[node], c[node]]);
    else if (kind[node] === NODES.warp && launch && smFits && ctaFits) {
      if (query.warp && !query.warp(a[node])) continue;
      if (query.launch && !query.launch(launch.extra.launch ?? 0)) continue;
      if (query.kernel && !query.kernel(launch.kernel)) continue;
      if (query.role && !query.role(trace.warpRole[trace.warpIndex[node]])) continue;
      result.warps++;
      result.nodes.fill(1, node, last[node]);
      for (let at = parent[node]; at >= 0 && !result.nodes[at]; at = parent[at]) result.nodes[at] = 1;
    }
  }
  return result;
}

// The lanes of the warps that are visible and under one of `tops` (null: anywhere), as merged intervals.
function visibleLanes(trace, nodes, tops) {
  if (nodes === null && tops === null) return [[0, trace.laneCount]];
  const { laneFirst, last } = trace.nodes, out = [];
  for (const warp of trace.warps) {
    if (nodes !== null && !nodes[warp]) continue;
    if (tops !== null && !tops.some((t) => warp >= t && warp < last[t])) continue;
    const from = laneFirst[warp], to = laneFirst[last[warp]];
    if (out.length > 0 && out.at(-1)[1] === from) out.at(-1)[1] = to;
    else out.push([from, to]);
  }
  return out;
}
