// SPDX-License-Identifier: Apache-2.0
// worker.js: finds and reads the trace, and answers questions about it, away from the page's thread.
//
//     page -> {load: [{url, name}], sure, api, levels} | {file, sure}
//     page <- {progress} | {building} | {trace} | {tables} | {tooLarge} | {error}
//     page -> {stats} | {activity} | {roles} | {question}, each with an id | {cancel: id}
//     page <- {answer} | {failed}, with that id
//
// A trace is read into this page, unless it is large and its server answers questions about it (remote.js).
'use strict';

const JSON_LIMIT = 200 * 1024 * 1024;
const PFTRACE_LIMIT = 700 * 1024 * 1024; // some 20 million events, 3 GB of memory: past it only when told so
const LEVELS_LIMIT = 256 * 1024 * 1024;  // past it rather ask the server, where it can answer
const GZIP_RATIO = 7;                    // about what a .pftrace shrinks to
let trace = null, context = null;

const megabytes = (n) => `${(n / 1048576).toFixed(n < 10485760 ? 1 : 0)} MB`;

// A stream of pieces with the progress told on the way.
async function* pieces(stream, total, what) {
  const reader = stream.getReader();
  let bytes = 0, told = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    bytes += value.length;
    if (bytes - told > 1 << 20) {
      told = bytes;
      postMessage({ progress: { what, bytes, total } });
    }
    yield value;
  }
}

async function readPftrace(stream, total, size) {
  const builder = new Builder(Math.ceil(size / 30)), reader = new PftraceReader(builder);
  for await (const piece of pieces(stream, total, 'Reading')) reader.push(piece);
  reader.finish();
  return finishTrace(builder, reader.t0);
}

async function readJson(stream, total) {
  const parts = [];
  let length = 0;
  for await (const piece of pieces(stream, total, 'Reading')) {
    parts.push(piece);
    length += piece.length;
    if (length > JSON_LIMIT) throw new FormatError(tooLargeJson(`over ${megabytes(JSON_LIMIT)}`));
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  const builder = new Builder(Math.ceil(length / 160));
  const reader = new TraceJsonReader(bytes, builder,
    (done) => postMessage({ progress: { what: 'Reading', bytes: done, total: length } }));
  reader.read();
  return finishTrace(builder, reader.t0);
}

const tooLargeJson = (size) => `the .trace.json is ${size}, more than a page can hold (200 MB). ` +
  'Make the .pftrace from it, which is a tenth of that: iket-decode FILE.trace.json --emit pftrace,html';

// Tells the kind by the first bytes, never by the name: gzip 1F 8B, a trace.json '{', a .pftrace 0A.
async function readStream(stream, total) {
  const reader = stream.getReader(), head = [];
  let have = 0;
  while (have < 2) {
    const { done, value } = await reader.read();
    if (done) break;
    head.push(value);
    have += value.length;
  }
  if (have === 0) throw new FormatError('the file is empty');
  const bytes = head.flatMap((piece) => [...piece.subarray(0, 64)]);
  const whole = new ReadableStream({
    start(controller) { head.forEach((piece) => controller.enqueue(piece)); },
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
  if (bytes[0] === 0x1F && bytes[1] === 0x8B) {
    return readStream(whole.pipeThrough(new DecompressionStream('gzip')), 0);
  }
  if ([0x7B, 0x20, 0x0A, 0x0D, 0x09].includes(bytes[0]) && /^\s*\{\s*["}]/.test(String.fromCharCode(...bytes))) {
    if (total > JSON_LIMIT) throw new FormatError(tooLargeJson(megabytes(total)));
    return readJson(whole, total);
  }
  if (bytes[0] !== 0x0A) throw new FormatError('this is neither a .pftrace, nor a .pftrace.gz, nor a .trace.json');
  return readPftrace(whole, total, total || 1 << 22);
}

// iket-serve decodes on demand: until it has, it answers 503 and says when to ask again.
async function fetchReady(url) {
  for (;;) {
    const response = await fetch(url, { credentials: 'same-origin' });
    const seconds = Number(response.headers.get('Retry-After') ?? 0);
    if (response.status !== 503 || !(seconds > 0)) return response;
    postMessage({ progress: { what: 'The server is decoding it', bytes: 0, total: 0 } });
    await new Promise((resolve) => { setTimeout(resolve, Math.min(seconds, 10) * 1000); });
  }
}

// The trace by its server's API, or null.
async function tryLevels(api, name, size) {
  if (!api) return null;
  try {
    const tables = await openRemote(api);
    return tables && { name, size, server: true, tables };
  } catch (error) {
    if (error instanceof ApiError) return { refused: { name, size, message: error.message } };
    throw error;
  }
}

// Tries the candidates one after another. A missing file is no error while another may be there.
async function loadFirst({ load: candidates, sure, api, levels }) {
  const missing = [];
  if (levels && !sure) {
    const found = await tryLevels(api, candidates[0].name, 0);
    if (found) return found;
  }
  for (const { url, name } of candidates) {
    let response;
    try {
      response = await fetchReady(url);
    } catch (error) {
      missing.push(`${name}: ${error.message}`);
      continue;
    }
    if (!response.ok) {
      missing.push(`${name}: the server answers ${response.status}`);
      continue;
    }
    const encoded = response.headers.get('Content-Encoding');
    const total = encoded ? 0 : Number(response.headers.get('Content-Length') ?? 0);
    if (total > JSON_LIMIT && /\.json$/.test(name)) {
      response.body.cancel().catch(() => {}); // whether it ends well or not: nothing more is wanted of it
      throw new FormatError(`${name}: ${tooLargeJson(megabytes(total))}`);
    }
    const unpacked = total * (/\.gz$/.test(name) ? GZIP_RATIO : 1);
    const server = response.headers.get('Cross-Origin-Resource-Policy') === 'same-origin'; // as iket-serve says
    if (unpacked > LEVELS_LIMIT && !sure) {
      const found = levels ? null : await tryLevels(api, name, total);
      if (found || unpacked > PFTRACE_LIMIT) {
        response.body.cancel().catch(() => {}); // whether it ends well or not: nothing more is wanted of it
        return found ?? { tooLarge: { name, size: total, unpacked } };
      }
    }
    try {
      return { name, size: total, server, trace: await readStream(response.body, total) };
    } catch (error) {
      throw new FormatError(`${name}: ${error.message}`);
    }
  }
  const error = new FormatError(missing.join('; '));
  error.missing = true;
  throw error;
}

// Sends the tables (a copy: the worker keeps its own to answer from) and then the summary.
function publish({ name, size, server }) {
  const { events, nodes, lanes } = trace;
  const share = (table) => Object.fromEntries(Object.entries(table).map(([k, v]) => [k, ArrayBuffer.isView(v)
    ? v.slice() : v]));
  const { parentCls, ...shown } = events;
  const sent = { ...trace, events: share(shown), nodes: share(nodes), lanes: share(lanes) };
  const buffers = [...Object.values(sent.events), ...Object.values(sent.nodes), ...Object.values(sent.lanes)]
    .filter((v) => ArrayBuffer.isView(v)).map((v) => v.buffer);
  context = { categories: categorize(trace), active: activeLanes(trace), peaks: new Map() };
  sent.categories = context.categories;
  events.payload = events.payloadType = null; // the page has them
  postMessage({ trace: sent, name, size, server }, buffers);
}

function answerActivity({ id, rows, from, to, bins }) {
  const bytes = new Uint8Array(rows.length * bins * CATEGORIES), peaks = [];
  rows.forEach((ranges, i) => {
    const key = ranges.map(([a, b]) => `${a}-${b}`).join();
    if (!context.peaks.has(key)) context.peaks.set(key, peakWarps(trace, ranges));
    peaks.push(context.peaks.get(key));
    activity(trace, context, ranges, peaks[i], from, to, bins,
      bytes.subarray(i * bins * CATEGORIES, (i + 1) * bins * CATEGORIES));
  });
  postMessage({ answer: { id, bytes, peaks } }, [bytes.buffer]);
}

function answerStats({ id, from, to, laneRanges }) {
  postMessage({ answer: { id, classes: classStats(trace, from, to, laneRanges) } });
}

function tooLargeFile({ name, size }) {
  const unpacked = size * (/\.gz$/.test(name) ? GZIP_RATIO : 1);
  return unpacked > PFTRACE_LIMIT && !/\.json$/.test(name) ? { tooLarge: { name, size, unpacked } } : null;
}

async function readFile(file, sure) {
  return (!sure && tooLargeFile(file))
    || { name: file.name, size: file.size, trace: await readStream(file.stream(), file.size) };
}

async function begin(data) {
  try {
    const found = data.load ? await loadFirst(data) : await readFile(data.file, data.sure);
    if (found.tooLarge || found.refused || found.tables) {
      const { nodes = {}, lanes = {} } = found.tables ?? {};
      postMessage(found, Object.values({ ...nodes, ...lanes }).map((column) => column.buffer));
      return;
    }
    trace = found.trace;
    publish(found);
  } catch (error) {
    postMessage({ error: { message: error.message, missing: error.missing === true, stack: error instanceof FormatError
      ? '' : String(error.stack) } });
  }
}

self.onmessage = ({ data }) => {
  if (data.load || data.file) begin(data);
  else if (data.question) answerRemote(data.question);
  else if (data.cancel !== undefined) remote.running.get(data.cancel)?.abort();
  else if (data.activity) answerActivity(data.activity);
  else if (data.stats) answerStats(data.stats);
  else postMessage({ answer: { id: data.roles.id, sums: roleStats(trace, context, data.roles) } });
};
