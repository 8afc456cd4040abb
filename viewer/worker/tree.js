// SPDX-License-Identifier: Apache-2.0
// tree.js: from the tracks and events of a reader to the tables that the page draws.
//
// Nodes are in the order in which they are drawn (depth first), so that all that lies under a node is one interval:
//
//     node      kind  parent  last (index past its subtree)  name  a b c (numbers by kind)
//     lane      node  depth   first  (events of lane i: first[i] .. first[i + 1])
//     event     start end cls flags payload ... sorted by lane, in a lane by start
//
// so a row on the screen is a few lanes, and what is under the mouse or in a span is a binary search.
'use strict';

const NODE = { root: 0, kernel: 1, bucket: 2, launch: 3, sm: 4, cta: 5, warp: 6, ranges: 7, markers: 8, token: 9,
  diagnostics: 10, overview: 11 };
const MAX_TREE = 32; // our own trees have 8 levels

// What a track is, by its place in the tree: [kind, a, b, c].
function classify(track, parentKind, hasChildren) {
  const numbers = (track.name.match(/-?\d+/g) ?? []).map(Number);
  switch (parentKind) {
    case NODE.root: return track.name === 'Diagnostics' && track.rank === 0 ? [NODE.diagnostics] : hasChildren
      ? [NODE.kernel] : [NODE.overview];
    case NODE.diagnostics: return [NODE.diagnostics];
    case NODE.kernel: return /^launches \d+-\d+$/.test(track.name) ? [NODE.bucket] : [NODE.launch];
    case NODE.bucket: return [NODE.launch];
    case NODE.launch: return [NODE.sm, numbers[0] ?? -1, numbers[1] ?? -1, numbers[2] ?? -1];
    case NODE.sm: return [NODE.cta, numbers[0] ?? 0, numbers[1] ?? 0, numbers[2] ?? 0];
    case NODE.cta: return [NODE.warp, numbers[0] ?? 0, -1, -1];
    default: {
      const lane = /^(?:lane|stream) (\d+) (.*)$/.exec(track.name);
      const rest = lane ? lane[2] : track.name;
      const kind = rest === 'markers' ? NODE.markers : rest.startsWith('token ') ? NODE.token : NODE.ranges;
      return [kind, lane ? Number(lane[1]) : -1];
    }
  }
}

// The tracks under the root "Launches", depth first, siblings by rank. The root's own slices and what does not fit its
// row are an overview for Perfetto, which this page draws from the launches themselves.
function orderTracks(builder) {
  const children = new Map();
  for (const track of builder.tracks) {
    if (!children.has(track.parent)) children.set(track.parent, []);
    children.get(track.parent).push(track);
  }
  for (const list of children.values()) list.sort((a, b) => a.rank - b.rank);
  const process = builder.tracks.find((t) => t.pid !== undefined);
  const group = builder.tracks.find((t) => t.parent === 0 && t.name === 'Launches');
  if (!group) throw new FormatError('the file has no track "Launches": it is not a trace that iket-decode wrote');
  const nodes = [];
  const visit = (track, parent, parentKind, depth) => {
    if (depth > MAX_TREE) throw new FormatError(`tracks lie more than ${MAX_TREE} deep in one another`);
    const [kind, a = -1, b = -1, c = -1] = parent < 0 ? [NODE.root]
      : classify(track, parentKind, children.has(track.uuid));
    if (kind === NODE.overview) return;
    const index = nodes.push({ track, parent, kind, a, b, c, last: 0 }) - 1;
    for (const child of children.get(track.uuid) ?? []) visit(child, index, kind, depth + 1);
    nodes[index].last = nodes.length;
  };
  visit(group, -1, -1, 0);
  return { nodes, process };
}

// Moves the rows of a column to their new places. Reading in the old order keeps the memory traffic low: the old rows
// come in the order of time, and each lane's new rows are written one after another.
function scatter(column, to, rows, count, width = 1) {
  const out = new column.constructor(count * width);
  if (width === 1) {
    for (let row = 0; row < rows; row++) if (to[row] >= 0) out[to[row]] = column[row];
  } else {
    for (let row = 0; row < rows; row++) {
      const place = 2 * to[row];
      if (place < 0) continue;
      out[place] = column[2 * row];
      out[place + 1] = column[2 * row + 1];
    }
  }
  return out;
}

function rekey(map, to) {
  const out = new Map();
  for (const [row, value] of map) if (to[row] >= 0) out.set(to[row], value);
  return out;
}

// Everything that the page needs, as plain objects and typed arrays.
function finishTrace(builder, t0) {
  const { nodes, process } = orderTracks(builder);
  const store = builder.store, laneNode = [], laneDepth = [];
  const newLane = new Int32Array(builder.laneCount).fill(-1);
  const table = {
    kind: new Uint8Array(nodes.length), parent: new Int32Array(nodes.length), last: new Int32Array(nodes.length),
    name: new Int32Array(nodes.length), a: new Int32Array(nodes.length), b: new Int32Array(nodes.length),
    c: new Int32Array(nodes.length), laneFirst: new Uint32Array(nodes.length + 1),
  };
  nodes.forEach((node, i) => {
    table.kind[i] = node.kind;
    table.parent[i] = node.parent;
    table.last[i] = node.last;
    table.name[i] = builder.string(node.track.name);
    table.a[i] = node.a;
    table.b[i] = node.b;
    table.c[i] = node.c;
    table.laneFirst[i] = laneNode.length;
    if (node.kind === NODE.root) return;
    node.track.lanes.forEach((lane, depth) => {
      newLane[lane] = laneNode.push(i) - 1;
      laneDepth.push(depth);
    });
  });
  table.laneFirst[nodes.length] = laneNode.length;

  const first = new Uint32Array(laneNode.length + 1);
  for (let row = 0; row < store.count; row++) {
    const lane = newLane[store.lane[row]];
    if (lane >= 0) first[lane + 1]++;
  }
  for (let lane = 0; lane < laneNode.length; lane++) first[lane + 1] += first[lane];
  const next = first.slice(), count = first[laneNode.length];
  const to = new Int32Array(store.count);
  for (let row = 0; row < store.count; row++) {
    const lane = newLane[store.lane[row]];
    to[row] = lane < 0 ? -1 : next[lane]++;
  }
  const move = (column, width) => scatter(column, to, store.count, count, width);
  return {
    t0, device: process?.name ?? '',
    strings: builder.strings, classes: builder.classes, notes: notesOf(builder),
    nodes: table,
    lanes: { node: Int32Array.from(laneNode), depth: Uint16Array.from(laneDepth), first },
    events: {
      count,
      start: move(store.start), end: move(store.end), cls: move(store.cls), parentCls: move(store.parentCls),
        flags: move(store.flags),
      payloadType: move(store.payloadType), payload: move(store.payload, 2),
    },
    arrows: arrowsOf(store, to),
    endPayload: rekey(store.endPayload, to), recordedAt: rekey(store.recordedAt, to), extra: rekey(store.extra, to),
  };
}

// Arrows as pairs: [the event that it leaves, the event that it reaches, ...].
function arrowsOf(store, to) {
  const pairs = [];
  for (const [id, row] of store.arrowTo) {
    const from = store.arrowFrom.get(id);
    if (from !== undefined && to[from] >= 0 && to[row] >= 0) pairs.push(to[from], to[row]);
  }
  return Int32Array.from(pairs);
}

function notesOf(builder) {
  const notes = builder.notes.slice(), say = (n, text) => n > 0 && notes.push(`${n.toLocaleString('en')} ${text}`);
  let open = 0;
  for (const track of builder.tracks) open += track.depth;
  say(open, 'slices have no end in the file and are drawn with length zero.');
  say(builder.unopenedEnds, 'ends of slices have no begin in the file and were left out.');
  say(builder.tooDeep, `ranges are nested deeper than ${MAX_DEPTH} and were left out.`);
  say(builder.unknownTracks, 'events belong to no described track and were left out.');
  return notes;
}
