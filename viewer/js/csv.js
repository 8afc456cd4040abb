// SPDX-License-Identifier: Apache-2.0
// csv.js: the events in scope as RFC 4180 lines. Times and 64-bit payloads are exact integers.
'use strict';

const CSV_COLUMNS = ['launch', 'kernel', 'sm', 'gpc', 'tpc', 'cta_x', 'cta_y', 'cta_z', 'warp', 'lane', 'role', 'kind',
  'name', 'depth', 'start_ns', 'end_ns', 'dur_ns',
  'payload', 'end_payload', 'unclosed'];

const csvField = (value) => {
  const text = value === null || value === undefined ? '' : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

// Pieces of a few thousand lines, so that a Blob can be made of them without one huge string.
function csvLines(source, cls, scope) {
  const { trace } = source, pieces = [`${CSV_COLUMNS.join()}\r\n`];
  let lines = [], lane = -1, place = null, depth = 0;
  source.eachInScope(cls, scope, (i) => {
    const e = source.at(i), { start, end } = e, instant = (e.flags & FLAGS.instant) !== 0;
    if (e.lane !== lane) {
      lane = e.lane;
      place = trace.place(trace.lanes.node[lane]);
      depth = trace.lanes.depth[lane];
    }
    const [x, y, z] = place.cta ?? [];
    lines.push([place.launch?.name, place.launch?.kernel, place.sm, place.gpc, place.tpc, x, y, z, place.warp,
      place.lane, place.role, KIND_NAME[trace.eventKind(e)], trace.eventName(e), depth, trace.absolute(start),
      instant ? '' : trace.absolute(end), instant ? '' : end - start, trace.payloadText(e), trace.endPayloadText(e),
      e.flags & FLAGS.unclosed ? 1 : ''].map(csvField).join());
    if (lines.length < 4096) return;
    pieces.push(`${lines.join('\r\n')}\r\n`);
    lines = [];
  });
  if (lines.length > 0) pieces.push(`${lines.join('\r\n')}\r\n`);
  return pieces;
}
