// SPDX-License-Identifier: Apache-2.0
// remote.js: asks the server about a trace that is too large to load (doc/api.md), and makes typed arrays of its answers,
// so that the page's own thread neither parses nor copies.
//
//     FOLDER/api/v1/trace/BASE/facts    until its state is `ready`, telling the page how far it is
//                             tables    once
//                             window, activity, statistics, ...   as the page asks
'use strict';

const API_VERSION = 1;
let remote = null; // {root, tag, running: Map(id -> AbortController)}, while a server answers

class ApiError extends Error {
  constructor(status, message, again = 0) {
    super(message);
    this.status = status; // 0: no answer at all
    this.again = again;   // seconds after which it may be asked again
  }
}

// The JSON of an answer; anything else is an ApiError.
async function apiJson(response) {
  const type = response.headers.get('Content-Type') ?? '';
  let body = null;
  if (type.startsWith('application/json')) body = await response.json();
  if (!response.ok) {
    const later = response.status >= 500 && response.status !== 501;
    const again = later ? Number(response.headers.get('Retry-After')) || 1 : 0;
    const message = body?.state === 'building' || body?.state === 'waiting' ? 'prepares the trace anew'
      : body?.error ? `says: ${body.error}` : `answers ${response.status}`;
    throw new ApiError(response.status, message, again);
  }
  if (body?.version !== API_VERSION) throw new ApiError(response.status, 'speaks another version of the API');
  return body;
}

// What an answer was made from: its ETag, without how it was sent. '': something on the way left it out.
const tagOf = (response) => (response.headers.get('ETag') ?? '').replace(/^W\//, '').replace(/(-gzip)*"$/, '"');

// Events and rows are asked for by their numbers, which mean something else once the file is another one. What is wrong
// with a question tells nothing of that: the tables do.
async function checkSource(response) {
  const about = response.ok || response.status >= 500 ? response
    : await fetch(`${remote.root}tables`, { method: 'HEAD', credentials: 'same-origin' });
  const tag = tagOf(about);
  if (tag === '' || remote.tag === '' || tag === remote.tag) return;
  throw new ApiError(about.status, 'has another trace of this name by now (reload the page)');
}

const wait = (seconds) => new Promise((resolve) => { setTimeout(resolve, seconds * 1000); });

// Waits until the server can answer about the trace. Gives its tables; null: this server has no such API, or no .pftrace
// for it. Throws an ApiError where it says why it cannot.
async function openRemote(root) {
  let facts = null, turn = 0, missed = 0;
  for (;;) {
    try {
      facts = await apiJson(await fetch(`${root}facts`, { credentials: 'same-origin' }));
      if (facts.state === 'ready') return await openTables(root);
    } catch (error) {
      if (facts === null && !error.again) return null;
      if (++missed > 30 || (facts?.state === 'ready' && error.again === 0)) throw error;
      await wait(1); // it was there before, or is busy: perhaps it is started anew
      continue;
    }
    if (facts.state === 'none') return null;
    if (facts.state === 'failed') throw new ApiError(200, facts.error ?? 'it does not say why');
    postMessage({ building: facts });
    await wait(turn++ < 4 ? 0.25 : 1);
  }
}

async function openTables(root) {
  postMessage({ progress: { what: 'Opening', bytes: 0, total: 0 } });
  const response = await fetch(`${root}tables`, { credentials: 'same-origin' }), tables = await apiJson(response);
  remote = { root, tag: tagOf(response), running: new Map() };
  return typedTables(tables);
}

const int32 = (list) => Int32Array.from(list);

function typedTables(t) {
  const node = t.nodes, columns = ['parent', 'last', 'name', 'a', 'b', 'c'];
  return {
    ...t, t0: BigInt(t.t0), warps: { node: int32(t.warps.node), start: Float64Array.from(t.warps.start),
      end: Float64Array.from(t.warps.end), role: int32(t.warps.role) },
    nodes: { kind: Uint8Array.from(node.kind), laneFirst: Uint32Array.from(node.laneFirst),
      ...Object.fromEntries(columns.map((key) => [key, int32(node[key])])) },
    lanes: { node: int32(t.lanes.node), depth: Uint16Array.from(t.lanes.depth), first: Float64Array.from(t.lanes.first) },
    categories: { of: Uint8Array.from(t.categories.of), classes: t.categories.classes,
      own: Float64Array.from(t.categories.own) },
  };
}

// Two words of a payload, from its digits.
const MASK = 0xFFFFFFFFn;
function payloadWords(digits, out, at) {
  if (digits === '') return;
  if (digits.length < 10) { // below 2^32
    out[at] = Number(digits);
    return;
  }
  const bits = BigInt(digits);
  out[at] = Number(bits & MASK);
  out[at + 1] = Number((bits >> 32n) & MASK);
}

function typedColumns(w, count) {
  const start = Float64Array.from(w.start), end = new Float64Array(count), payload = new Uint32Array(2 * count);
  for (let i = 0; i < count; i++) {
    end[i] = start[i] + w.length[i];
    payloadWords(w.payload[i], payload, 2 * i);
  }
  return { start, end, payload, cls: Uint16Array.from(w.cls), flags: Uint8Array.from(w.flags),
    payloadType: Uint8Array.from(w.payloadType) };
}

// What the page wants of each answer.
const READERS = {
  window: (w) => {
    const columns = { ...typedColumns(w, w.event.length), event: Float64Array.from(w.event) };
    return { lanes: int32(w.lanes), at: int32(w.at), columns };
  },
  statistics: ({ classes }) => ({ classes: classes.map((c) => ({ ...c, total: BigInt(c.total) })) }),
  longest: (w) => ({ events: w.events, lane: w.lane, columns: typedColumns(w, w.events.length) }),
  events: ({ events }) => ({ events: events.map((e) => {
    const words = new Uint32Array(2), closing = new Uint32Array(2);
    payloadWords(e.payload, words, 0);
    if (e.endPayload) payloadWords(e.endPayload[1], closing, 0);
    const big = (t) => (t === null ? null : BigInt(t));
    return { ...e, low: words[0], high: words[1], recordedAt: e.recordedAt ? e.recordedAt.map(big) : null,
      endPayload: e.endPayload ? [e.endPayload[0], closing[0], closing[1]] : null };
  }) }),
  points: (p) => p,
  find: (f) => f,
};

async function readActivity(response) {
  if (!response.ok) return apiJson(response);
  const buffer = await response.arrayBuffer(), view = new DataView(buffer), rows = view.getUint32(0, true),
    bins = view.getUint32(4, true), at = 8 + 4 * rows;
  if (buffer.byteLength !== at + rows * bins * CATEGORIES) {
    throw new ApiError(response.status, 'sends a picture of another size');
  }
  const peaks = Array.from({ length: rows }, (_, i) => view.getUint32(8 + 4 * i, true));
  return { bytes: new Uint8Array(buffer, at), peaks };
}

const buffersOf = (answer) => Object.values(answer.columns ?? {}).concat(answer.bytes ?? []).map((v) => v.buffer);

async function answerRemote({ id, what, query }) {
  const stop = new AbortController();
  remote.running.set(id, stop);
  try {
    const response = await fetch(`${remote.root}${what}?${query}`, { credentials: 'same-origin', signal: stop.signal });
    await checkSource(response);
    const answer = what === 'activity' ? await readActivity(response) : READERS[what](await apiJson(response));
    postMessage({ answer: { ...answer, id } }, buffersOf(answer));
  } catch (error) {
    if (error.name === 'AbortError') return;
    const known = error instanceof ApiError, silent = error instanceof TypeError; // fetch's own: no answer came
    postMessage({ failed: { id, status: known ? error.status : 0, message: silent ? 'does not answer' : error.message,
      again: known ? error.again : 1 } });
  } finally {
    remote.running.delete(id);
  }
}
