// SPDX-License-Identifier: Apache-2.0
// judge.js PFTRACE LEVELS …: compares level files with what the page's own code makes of the same traces, value by value. The
// layout of the file is taken from the text of levels/file.h. LEVELS "-": the page must refuse the trace. Ends with 1 and the
// first differences.
'use strict';

const fs = require('fs');
const path = require('path');
const vm = require('vm');
const zlib = require('zlib');

const root = path.join(__dirname, '../..'), read = (name) => fs.readFileSync(path.join(root, name), 'utf8');
const sources = ['worker/store.js', 'worker/pftrace.js', 'worker/tree.js', 'worker/stats.js', 'js/source_local.js', 'js/model.js'].map((name) => read(`viewer/${name}`));
vm.runInThisContext(`${sources.join('\n')}
globalThis.pageTrace = (bytes) => {
  const builder = new Builder(1000), reader = new PftraceReader(builder);
  reader.push(bytes);
  reader.finish();
  const tables = finishTrace(builder, reader.t0);
  tables.categories = categorize(tables);
  const { events, arrows, endPayload, recordedAt, extra } = tables;
  return Object.assign(new Trace(tables, new LocalSource(tables, null)), { events, arrows, endPayload, recordedAt, extra, active: activeLanes(tables),
    payload64: new BigUint64Array(events.payload.buffer) });
};
globalThis.isRefusal = (error) => error instanceof FormatError;
globalThis.KIND_OF = KIND; globalThis.NO_CLASS_OF = NO_CLASS;`);

let differences = 0;
function same(what, ours, theirs) {
  if (ours === theirs || (typeof ours === 'number' && typeof theirs === 'number' && Number.isNaN(ours) && Number.isNaN(theirs))) return;
  if (++differences <= 10) console.error(`${what}: ${ours} in the level file, ${theirs} in the page`);
}
function sameList(what, ours, theirs) {
  same(`${what}.length`, ours.length, theirs.length);
  for (let i = 0; i < theirs.length && differences < 10; i++) {
    if (ours[i] !== theirs[i]) same(`${what}[${i}]`, Number(ours[i]), Number(theirs[i]));
  }
}
const sameJson = (what, ours, theirs) => same(what, JSON.stringify(ours), JSON.stringify(theirs));

// ---- the level file ------------------------------------------------------------------------------------------------

const COLUMN = { char: Uint8Array, uint8_t: Uint8Array, uint16_t: Uint16Array, uint32_t: Uint32Array, int32_t: Int32Array,
  uint64_t: BigUint64Array, float: Float32Array, iket_levels_note: null };

function levelFile(name) {
  const bytes = fs.readFileSync(name), buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), view = new DataView(buffer);
  const sections = [...read('levels/file.h').matchAll(/^ {4}X\((\w+), (\w+)\)/gm)], out = { t0: view.getBigUint64(48, true), span: view.getBigUint64(56, true) };
  sections.forEach(([, section, type], i) => {
    const offset = Number(view.getBigUint64(72 + 16 * i, true)), count = Number(view.getBigUint64(80 + 16 * i, true));
    if (COLUMN[type] === undefined) throw new Error(`type ${type} of section ${section} is not known here`);
    out[section] = type === 'iket_levels_note' ? Array.from({ length: count }, (_, k) => ({
      event: Number(view.getBigUint64(offset + 24 * k, true)), bits: view.getBigUint64(offset + 24 * k + 8, true),
      kind: view.getUint32(offset + 24 * k + 16, true), type: view.getUint32(offset + 24 * k + 20, true) }))
      : new COLUMN[type](buffer, offset, count);
  });
  out.text = (bytesOf, at) => {
    let end = at;
    while (bytesOf[end] !== 0) end++;
    return Buffer.from(bytesOf.subarray(at, end)).toString('utf8');
  };
  return out;
}

// ---- comparing -----------------------------------------------------------------------------------------------------

function compareColumns(file, trace) {
  const { nodes, lanes, events } = trace;
  same('t0', file.t0, trace.t0);
  same('span', Number(file.span), trace.span);
  same('strings', JSON.stringify(Array.from(file.string_at, (at) => file.text(file.strings, at))), JSON.stringify(trace.strings));
  sameList('class_name', file.class_name, trace.classes.map((c) => c.name));
  sameList('class_kind', file.class_kind, trace.classes.map((c) => c.kind));
  sameList('class_category', file.class_category, trace.categories.of);
  const names = { kind: 'kind', parent: 'parent', last: 'last', name: 'name', a: 'a', b: 'b', c: 'c', lane: 'laneFirst' };
  for (const [ours, theirs] of Object.entries(names)) sameList(`node_${ours}`, file[`node_${ours}`], nodes[theirs]);
  sameList('lane_node', file.lane_node, lanes.node);
  sameList('lane_depth', file.lane_depth, lanes.depth);
  sameList('lane_first', file.lane_first, lanes.first);
  sameList('lane_active', file.lane_active, trace.active);
  const columns = { start: 'start', end: 'end', cls: 'cls', parent_cls: 'parentCls', flags: 'flags', payload_type: 'payloadType' };
  for (const [ours, theirs] of Object.entries(columns)) sameList(ours, file[ours], events[theirs]);
  for (let i = 0; i < events.count && differences < 10; i++) if (file.payload[i] !== trace.payload64[i]) same(`payload[${i}]`, file.payload[i], trace.payload64[i]);
  sameList('arrow', file.arrow, trace.arrows);
}

const exactly = (extra) => JSON.parse(JSON.stringify(extra, (_, v) => (typeof v === 'bigint' ? String(v) : v)));

function compareNotes(file, trace) {
  const theirs = [];
  for (const [row, [type, low, high]] of trace.endPayload) theirs.push([row, 0, type, String((BigInt(high) << 32n) | BigInt(low))]);
  for (const [row, both] of trace.recordedAt) both.forEach((time, which) => time !== null && theirs.push([row, 1 + which, 0, String(time)]));
  for (const [row, extra] of trace.extra) theirs.push([row, 3, 0, JSON.stringify(exactly(extra))]);
  theirs.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const ours = file.note.map((n) => [n.event, n.kind, n.type, n.kind === 3 ? JSON.stringify(JSON.parse(file.text(file.note_text, Number(n.bits)))) : String(n.bits)]);
  same('notes', ours.length, theirs.length);
  for (let i = 0; i < theirs.length && differences < 10; i++) sameJson(`note ${i}`, ours[i], theirs[i]);
}

function durationsOf(trace) {
  const sums = trace.classes.map((c) => ({ name: c.name, kind: c.kind, count: 0, min: 0, max: 0, total: 0n }));
  for (let i = 0; i < trace.events.count; i++) {
    const s = sums[trace.events.cls[i]], time = trace.events.end[i] - trace.events.start[i];
    s.min = s.count === 0 ? time : Math.min(s.min, time);
    s.max = Math.max(s.max, time);
    s.total += BigInt(time);
    s.count++;
  }
  return sums.map((s) => ({ ...s, total: String(s.total) }));
}

// Of each role's warps: the lifetime, and the time in the innermost range by class, as roleStats() of the page counts it.
function rolesOf(trace) {
  const { start, end, cls, parentCls } = trace.events, { first } = trace.lanes, { laneFirst, last } = trace.nodes;
  const names = [...trace.roles.keys()], isLifetime = (c) => trace.classes[c].kind === KIND_OF.lifetime;
  const roles = names.map((name) => ({ name: name === '-' ? null : name, warps: trace.roles.get(name), lifetime: 0, own: new Map() }));
  trace.warps.forEach((node, k) => {
    const role = roles[names.indexOf(trace.warpRole[k])], book = (c, time) => role.own.set(c, (role.own.get(c) ?? 0) + time);
    for (let lane = laneFirst[node]; lane < laneFirst[last[node]]; lane++) {
      for (let i = first[lane]; trace.active[lane] > 0 && i < first[lane + 1]; i++) {
        if (isLifetime(cls[i])) role.lifetime += end[i] - start[i];
        else book(cls[i], end[i] - start[i]);
        if (parentCls[i] !== NO_CLASS_OF && !isLifetime(parentCls[i])) book(parentCls[i], start[i] - end[i]);
      }
    }
  });
  return roles.map((r) => ({ ...r, own: [...r.own].sort((a, b) => a[0] - b[0]) }));
}

function compareTables(file, trace) {
  const tables = JSON.parse(Buffer.from(file.tables_json).toString('utf8'));
  same('tables t0', tables.t0, String(trace.t0));
  for (const key of ['span', 'device']) same(`tables ${key}`, tables[key], trace[key]);
  same('tables events', tables.events, trace.events.count);
  same('tables arrows', tables.arrows, trace.arrows.length / 2);
  for (const key of ['strings', 'notes']) sameJson(`tables ${key}`, tables[key], trace[key]);
  sameJson('tables classes', tables.classes, durationsOf(trace));
  for (const [key, column] of Object.entries(trace.nodes)) sameList(`tables nodes.${key}`, tables.nodes[key], column);
  for (const [key, column] of Object.entries(trace.lanes)) sameList(`tables lanes.${key}`, tables.lanes[key], column);
  for (const [key, column] of Object.entries(trace.categories)) sameList(`tables categories.${key}`, tables.categories[key], column);
  sameJson('tables launches', tables.launches, trace.launches.map((l) => ({ node: l.node, event: l.event, start: l.start, end: l.end, cls: trace.events.cls[l.event],
    extra: exactly(l.extra) })));
  const names = [...trace.roles.keys()], { first } = trace.lanes, lane = trace.nodes.laneFirst;
  const lives = trace.warps.map((n) => (lane[n] < lane[n + 1] ? [trace.events.start[first[lane[n]]], trace.events.end[first[lane[n] + 1] - 1]] : [-1, -1]));
  sameList('tables warps.node', tables.warps.node, trace.warps);
  sameList('tables warps.start', tables.warps.start, lives.map((l) => l[0]));
  sameList('tables warps.end', tables.warps.end, lives.map((l) => l[1]));
  sameList('tables warps.role', tables.warps.role, trace.warpRole.map((name) => names.indexOf(name)));
  trace.warps.forEach((node, k) => same(`node_role[${node}]`, file.node_role[node], names.indexOf(trace.warpRole[k])));
  sameJson('tables roles', tables.roles.map(({ class: cls, ...r }) => ({ name: cls < 0 ? null : tables.strings[tables.classes[cls].name], ...r })), rolesOf(trace));
  sameJson('tables diagnostics', tables.diagnostics.map((d) => ({ text: d.text, ...d.extra })), exactly(trace.diagnostics));
  sameList('role_class', file.role_class, tables.roles.map((r) => r.class));
}

function compareStatistics(file, trace) {
  const { classes } = JSON.parse(Buffer.from(file.statistics_json).toString('utf8'));
  const theirs = classStats(trace, -Infinity, Infinity, [[0, trace.laneCount]]);
  sameJson('statistics', classes, theirs.map(({ cls, ...s }) => ({ cls, name: trace.className(cls), kind: trace.classes[cls].kind, count: s.count, total: String(s.total), mean: s.mean,
    min: s.min, p50: s.p50, p90: s.p90, p99: s.p99, max: s.max, histogram: s.histogram })));
}

// The time of an SM's warps by bin and category, summed slice by slice and bin by bin.
function smBins(trace, node, from, to, bins) {
  const sums = new Float64Array(bins * 16), { laneFirst, last } = trace.nodes, { first } = trace.lanes, { start, end, cls, parentCls } = trace.events;
  const width = (to - from) / bins, { of } = trace.categories;
  for (let lane = laneFirst[node]; lane < laneFirst[last[node]]; lane++) {
    for (let i = first[lane]; trace.active[lane] > 0 && i < first[lane + 1]; i++) {
      const a = Math.max(start[i], from), b = Math.min(end[i], to);
      const outer = parentCls[i] !== NO_CLASS_OF ? of[parentCls[i]] : trace.active[lane] === 2 ? 0 : -1;
      for (let bin = Math.floor((a - from) / width); bin < bins && from + bin * width < b; bin++) {
        const time = Math.min(b, from + (bin + 1) * width) - Math.max(a, from + bin * width);
        if (time <= 0) continue;
        sums[bin * 16 + of[cls[i]]] += time;
        if (outer >= 0) sums[bin * 16 + outer] -= time;
      }
    }
  }
  return sums;
}

function compareBins(file, trace) {
  const { laneFirst, last, parent } = trace.nodes, { first } = trace.lanes;
  const launches = new Map(trace.launches.map((l) => [l.node, l]));
  const wanted = [];
  trace.nodes.kind.forEach((kind, node) => {
    const launch = kind === NODE.sm ? launches.get(parent[node]) : null, events = first[laneFirst[last[node]]] - first[laneFirst[node]];
    if (launch && launch.end > launch.start && events >= 32) wanted.push({ node, from: launch.start, to: launch.end, events });
  });
  sameList('bin_node', file.bin_node, wanted.map((w) => w.node));
  sameList('bin_from', file.bin_from, wanted.map((w) => w.from));
  sameList('bin_to', file.bin_to, wanted.map((w) => w.to));
  const largest = wanted.length > 40 ? wanted.filter((_, k) => k % Math.ceil(wanted.length / 40) === 0) : wanted;
  for (const w of largest) {
    const k = wanted.indexOf(w), at = Number(file.bin_at[k]), levels = Number(file.bin_at[k + 1]) - at;
    let bins = Math.min(16384, 2 ** Math.floor(Math.log2(w.events / 32))), place = at * 16, sums = smBins(trace, w.node, w.from, w.to, bins);
    same(`bins of node ${w.node}`, levels, 2 * bins - 1);
    const near = (w.to - w.from) * 1e-3 / bins;
    for (; bins >= 1; bins /= 2) {
      sums.forEach((sum, c) => Math.abs(sum - file.bin[place + c]) > near * Math.max(1, Math.abs(sum) / near / 1000) && same(`node ${w.node}: bin ${c >> 4} of ${bins}, category ${c & 15}`, file.bin[place + c], sum));
      place += bins * 16;
      sums = Float64Array.from({ length: bins * 8 }, (_, c) => sums[(c >> 4) * 32 + (c & 15)] + sums[(c >> 4) * 32 + 16 + (c & 15)]);
    }
  }
}

// The page's trace; null where the page refuses the file and there is no level file ("-") either.
function readByPage(bytes, levels) {
  let trace = null;
  try {
    trace = pageTrace(new Uint8Array(bytes));
  } catch (error) {
    if (!isRefusal(error) || levels !== '-') throw error;
  }
  if ((trace === null) !== (levels === '-')) throw new Error(`the page ${trace ? 'reads' : 'refuses'} what the builder does not`);
  return trace;
}

for (let k = 2; k + 1 < process.argv.length; k += 2) {
  let bytes = fs.readFileSync(process.argv[k]);
  if (bytes[0] === 0x1F) bytes = zlib.gunzipSync(bytes);
  differences = 0;
  const trace = readByPage(bytes, process.argv[k + 1]);
  if (trace === null) continue;
  const file = levelFile(process.argv[k + 1]);
  for (const compare of [compareColumns, compareNotes, compareTables, compareStatistics, compareBins]) compare(file, trace);
  if (differences > 0) {
    console.error(`${process.argv[k]}: ${differences} differences`);
    process.exitCode = 1;
  }
}
