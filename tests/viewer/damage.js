// SPDX-License-Identifier: Apache-2.0
// damage.js PFTRACE TRACE_JSON [ROUNDS]: feeds the page's readers damaged copies of two files, in Node. Each must either be
// read or be refused with a FormatError that says what is wrong: no other exception, no endless loop.
'use strict';

const fs = require('fs');
const path = require('path');
const vm = require('vm');

const folder = path.join(__dirname, '../../viewer/worker');
const sources = ['store.js', 'pftrace.js', 'json.js', 'tracejson.js', 'tree.js', 'stats.js'].map((name) => fs.readFileSync(path.join(folder, name), 'utf8'));
vm.runInThisContext(`${sources.join('\n')}
globalThis.readPftrace = (pieces) => {
  const builder = new Builder(1000), reader = new PftraceReader(builder);
  for (const piece of pieces) reader.push(piece);
  reader.finish();
  return finishTrace(builder, reader.t0);
};
globalThis.readJson = (bytes) => {
  const builder = new Builder(1000), reader = new TraceJsonReader(bytes, builder, () => {});
  reader.read();
  return finishTrace(builder, reader.t0);
};
globalThis.judge = (trace) => {
  const context = { categories: categorize(trace), active: activeLanes(trace) };
  classStats(trace, -Infinity, Infinity, [[0, trace.lanes.node.length]]);
  const bytes = new Uint8Array(64 * CATEGORIES);
  activity(trace, context, [[0, trace.nodes.kind.length]], 4, 0, 1000, 64, bytes);
};
globalThis.isRefusal = (error) => error instanceof FormatError;`);

// Numbers that are the same at every run.
let state = 12345;
function random(below) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor(state / 4294967296 * below);
}

function damaged(bytes) {
  const copy = Uint8Array.from(bytes), kind = random(5);
  if (kind === 0) return copy.subarray(0, random(copy.length)); // cut off
  for (let n = 1 + random(4); n > 0; n--) {
    const at = random(copy.length);
    if (kind === 1) copy[at] ^= 1 << random(8);
    else if (kind === 2) copy[at] = random(256);
    else if (kind === 3) copy[at] = [0, 0x7F, 0x80, 0xFF][random(4)];
    else copy.copyWithin(at, random(copy.length), random(copy.length));
  }
  return copy;
}

function pieces(bytes) {
  const out = [];
  for (let at = 0; at < bytes.length;) {
    const length = 1 + random(5000);
    out.push(bytes.subarray(at, at + length));
    at += length;
  }
  return out;
}

const [pftrace, json] = process.argv.slice(2, 4).map((file) => new Uint8Array(fs.readFileSync(file)));
const rounds = Number(process.argv[4] ?? 600);
let read = 0, refused = 0;
for (const [name, bytes, reader] of [['pftrace', pftrace, (b) => readPftrace(pieces(b))], ['trace.json', json, readJson]]) {
  judge(reader(bytes)); // the file itself must be good
  for (let round = 0; round < rounds; round++) {
    const seed = state, bad = damaged(bytes), started = Date.now();
    try {
      judge(reader(bad));
      read++;
    } catch (error) {
      if (!isRefusal(error)) {
        console.error(`${name}, round ${round} (state ${seed}): ${error.stack}`);
        process.exit(1);
      }
      refused++;
    }
    if (Date.now() - started > 20000) {
      console.error(`${name}, round ${round} (state ${seed}) took ${Date.now() - started} ms`);
      process.exit(1);
    }
  }
}
console.log(`${read} read, ${refused} refused`);
process.exit(read > 0 && refused > 0 ? 0 : 1);
