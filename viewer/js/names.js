// SPDX-License-Identifier: Apache-2.0
// names.js: the table of totals per name, over the whole trace or over what is selected. Waits come first, the longest
// total on top: what a kernel waits for is the first question.
'use strict';

const NAME_COLUMNS = [
  { key: 'name', title: 'name', text: true },
  { key: 'count', title: 'count' },
  { key: 'total', title: 'total', help: 'Sum of durations over all warps' },
  { key: 'mean', title: 'mean' },
  { key: 'p50', title: 'p50', help: 'Nearest rank: half of all are not longer' },
  { key: 'p99', title: 'p99', help: 'Nearest rank: 99 % of all are not longer' },
  { key: 'max', title: 'max' },
];

class NamesPanel {
  constructor(app) {
    this.app = app;
    this.stats = [];
    this.sort = { key: 'waits', down: true };
    this.root = byId('names-section');
  }

  update(stats, scope) {
    const { trace } = this.app;
    this.scope = scope;
    this.lifetime = Number(stats.find((s) => trace.classes[s.cls].kind === KINDS.lifetime)?.total ?? 0n);
    this.stats = stats.filter((s) => [KINDS.range, KINDS.token, KINDS.marker,
      KINDS.lifetime].includes(trace.classes[s.cls].kind));
    this.draw();
  }

  // Waits, then other ranges, then markers, then lifetimes; within each by total, of markers by count.
  rank(s) {
    const { trace } = this.app, kind = trace.classes[s.cls].kind;
    if (kind === KINDS.lifetime) return 3;
    return kind === KINDS.marker ? 2 : isWait(trace.className(s.cls)) ? 0 : 1;
  }

  sorted() {
    const { key, down } = this.sort, sign = down ? -1 : 1, name = (s) => this.app.trace.className(s.cls);
    const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    const waitsFirst = (a, b) => this.rank(a) - this.rank(b) || order(b.total, a.total) || b.count - a.count;
    const byColumn = (a, b) => sign * (key === 'name' ? order(name(a), name(b)) : order(a[key], b[key]));
    return [...this.stats].sort(key === 'waits' ? waitsFirst : byColumn);
  }

  draw() {
    const rows = this.sorted(), ranges = rows.filter((s) => this.rank(s) < 2);
    const longest = ranges.reduce((most, s) => Math.max(most, Number(s.total)), 1);
    const body = rows.map((s) => this.row(s, longest));
    if (body.length === 0) body.push(element('tr', {},
      element('td', { colspan: 7, class: 'empty' }, 'No event here.')));
    this.root.replaceChildren(
      element('h2', {}, 'Where the time goes', element('span', { class: 'scope' }, this.scope)),
      element('div', { class: 'scroll' }, grid(NAME_COLUMNS.map((column) => this.heading(column)), body)));
  }

  heading({ key, title, help, text }) {
    const waits = this.sort.key === 'waits', on = this.sort.key === key || (waits && key === 'total');
    const arrow = waits ? ' waits ▾' : this.sort.down ? ' ▾' : ' ▴', direction = this.sort.down ? 'descending'
      : 'ascending';
    return element('th', { scope: 'col', class: text ? '' : 'n', 'aria-sort': on ? direction : 'none' },
      element('button', { class: 'sort', title: help ?? `Sort by ${title}`, onclick: () => this.sortBy(key) },
        title, on ? element('i', {}, arrow) : ''));
  }

  row(s, longest) {
    const { app } = this, { trace, palette } = app, kind = trace.classes[s.cls].kind, instant = kind === KINDS.marker;
    const name = trace.className(s.cls), colour = palette.fill[s.cls], on = app.focusClass === s.cls;
    const swatch = element('i', { class: `swatch ${instant ? 'marker' : ''}`, style: { background: colour } });
    const times = instant ? ['', '', '', '', ''].map((none) => numberCell(none))
      : [this.totalCell(s, longest, colour), timeCell(Math.round(s.mean)), timeCell(s.p50), timeCell(s.p99),
        timeCell(s.max)];
    return element('tr', { class: `${on ? 'on' : ''} ${kind === KINDS.lifetime ? 'quiet' : ''}`, 'data-cls': s.cls,
      onclick: () => app.focusName(on ? -1 : s.cls) },
    element('td', { class: 'name', title: `${name} (${KIND_NAME[kind]})` }, swatch,
      plainButton(name, { 'aria-pressed': String(on) })),
    s.count < 1e6 ? numberCell(integer(s.count)) : numberCell(compact(s.count), integer(s.count)), ...times);
  }

  totalCell(s, longest, colour) {
    const share = Math.min(1, Number(s.total) / longest), ofLife = percent(Number(s.total) / (this.lifetime || 1));
    return element('td', { class: 'n bar', title: `${integer(s.total)} ns; ${ofLife} of the warps' lifetime` },
      element('span', { class: 'fill', style: { width: `calc((100% - 8px) * ${share})`, background: colour } }),
      element('span', { class: 'over' }, longDuration(s.total)));
  }

  // A click sorts down, a second one up; a third on the total brings back the waits.
  sortBy(key) {
    const again = this.sort.key === key;
    if (again && key === 'total' && !this.sort.down) this.sort = { key: 'waits', down: true };
    else this.sort = { key, down: again ? !this.sort.down : key !== 'name' };
    this.draw();
    this.app.link.later();
  }
}
