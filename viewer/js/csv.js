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
function csvLines(app) {
  const { trace } = app, { start, end, flags } = trace.events, pieces = [`${CSV_COLUMNS.join()}\r\n`];
  let lines = [], lane = -1, place = null, depth = 0;
  app.eachInScope(app.focusClass, (i) => {
    if (lane < 0 || i >= trace.lanes.first[lane + 1] || i < trace.lanes.first[lane]) {
      lane = trace.laneOf(i);
      place = trace.place(trace.lanes.node[lane]);
      depth = trace.lanes.depth[lane];
    }
    const instant = trace.isInstant(i), [x, y, z] = place.cta ?? [];
    lines.push([place.launch?.name, place.launch?.kernel, place.sm, place.gpc, place.tpc, x, y, z, place.warp,
      place.lane, place.role, KIND_NAME[trace.eventKind(i)], trace.eventName(i),
      depth, trace.absolute(start[i]), instant ? '' : trace.absolute(end[i]), instant ? '' : end[i] - start[i],
        trace.payloadText(i), trace.endPayloadText(i),
      flags[i] & FLAGS.unclosed ? 1 : ''].map(csvField).join());
    if (lines.length < 4096) return;
    pieces.push(`${lines.join('\r\n')}\r\n`);
    lines = [];
  });
  if (lines.length > 0) pieces.push(`${lines.join('\r\n')}\r\n`);
  return pieces;
}
