// SPDX-License-Identifier: Apache-2.0
// questions.js: what the page wants to know, as arguments of the server's API (doc/api.md), and answers put together. An
// address is limited, so what is long becomes several questions.
'use strict';

const ARGUMENT_TEXT = 1400;  // letters of one argument: a server takes addresses of some 2,000
const ARGUMENT_LANES = 256;  // of one question
const ACTIVITY_RUNS = 128;   // runs of a folded map: with more, it only shows where warps are alive

// Sorted numbers as intervals with their ends excluded, "0-4,7-8", cut into texts of a bounded length.
function intervalTexts(numbers) {
  const texts = [], covered = [];
  let text = '', inside = [];
  for (let i = 0; i < numbers.length;) {
    let j = i;
    while (numbers[j + 1] === numbers[j] + 1 && j - i < ARGUMENT_LANES) j++;
    const part = `${numbers[i]}-${numbers[j] + 1}`;
    if (text !== '' && (text.length + part.length >= ARGUMENT_TEXT || inside.length + j - i >= ARGUMENT_LANES)) {
      texts.push(text);
      covered.push(inside);
      text = '';
      inside = [];
    }
    text += text === '' ? part : `,${part}`;
    inside = inside.concat(numbers.slice(i, j + 1));
    i = j + 1;
  }
  if (text !== '') {
    texts.push(text);
    covered.push(inside);
  }
  return texts.map((t, k) => ({ text: t, numbers: covered[k] }));
}

const mergedIntervals = (intervals) => intervals.reduce((out, [a, b]) => {
  if (out.length > 0 && out.at(-1)[1] >= a) out.at(-1)[1] = Math.max(out.at(-1)[1], b);
  else out.push([a, b]);
  return out;
}, []);

const queryText = (given) => Object.entries(given).filter(([, v]) => v !== null && v !== undefined)
  .map(([k, v]) => `${k}=${encodeURIComponent(v).replaceAll('%2C', ',')}`).join('&');
const decimal = (t) => (Number.isInteger(t) ? String(t) : t.toFixed(3));

// Rows as arguments, as many as fit into an address: SMs of all launches by their numbers, others by nodes.
function rowTexts(rows) {
  const parts = [];
  rows.forEach((row, k) => {
    const isSm = row.sm !== undefined, last = parts.at(-1);
    const text = isSm ? String(row.sm) : row.ranges.map(([a, b]) => `${a}-${b}`).join('.');
    if (last && last.text.length + text.length < ARGUMENT_TEXT) last.text += `,${text}`;
    else parts.push({ text, key: isSm ? 'sms' : 'rows', first: k });
  });
  return parts;
}

// The questions that make a picture of what rows do in a span of the view: {given, row, bin}, where the answer belongs. Rows
// of launches that are drawn elsewhere than at their time are asked for apart; of the map, whose rows go through all
// launches, each run of the view is.
function activityQuestions(rows, from, to, bins, fold, picture) {
  const parts = [], isMap = rows[0].sm !== undefined; // {rows, row, shift, bin, bins}
  if (isMap && fold.on) {
    const scale = bins / (to - from), runs = fold.between(from, to), bin = (t) => (t - from) * scale;
    for (const run of runs) {
      const first = Math.floor(bin(run.from + run.shift)), last = Math.ceil(bin(run.to + run.shift));
      if (runs.length <= ACTIVITY_RUNS) parts.push({ rows, row: 0, shift: run.shift, bin: first, bins: last - first });
      else picture.shade(rows, run.shift, first, last);
    }
  } else {
    rows.forEach((row, k) => {
      const shift = isMap ? 0 : row.ranges[0][2], last = parts.at(-1);
      if (last && last.shift === shift) last.rows.push(row);
      else parts.push({ rows: [row], row: k, shift, bin: 0, bins });
    });
  }
  const width = (to - from) / bins, questions = [];
  for (const part of parts) {
    const a = from - part.shift + part.bin * width, b = a + part.bins * width;
    for (const { text, key, first } of rowTexts(part.rows)) {
      questions.push({ given: { [key]: text, from: decimal(a), to: decimal(b), bins: part.bins }, row: part.row + first,
        bin: part.bin });
    }
  }
  return questions;
}

// Puts answers about some rows and some bins together.
class ActivityPicture {
  constructor(rows, bins) {
    this.bins = bins;
    this.bytes = new Uint8Array(rows * bins * STRIP_CATEGORIES);
    this.peaks = new Array(rows).fill(1);
  }

  // Warps are alive in these bins: all that is told of launches that are a few pixels wide.
  shade(rows, shift, first, last) {
    rows.forEach((row, k) => {
      if (!row.ranges.some((range) => range[2] === shift)) return;
      for (let bin = first; bin < Math.min(last, this.bins); bin++) {
        this.bytes[(k * this.bins + bin) * STRIP_CATEGORIES] = 255;
      }
    });
  }

  put({ bytes, peaks }, row, bin, bins) {
    const from = Math.max(0, -bin), to = Math.min(bins, this.bins - bin);
    peaks.forEach((peak, k) => {
      this.peaks[row + k] = peak;
      const part = bytes.subarray((k * bins + from) * STRIP_CATEGORIES, (k * bins + to) * STRIP_CATEGORIES);
      this.bytes.set(part, ((row + k) * this.bins + bin + from) * STRIP_CATEGORIES);
    });
  }
}
