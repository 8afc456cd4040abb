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
    if (key === 'waits') return [...this.stats].sort((a, b) => this.rank(a) - this.rank(b) || order(b.total, a.total)
      || b.count - a.count);
    return [...this.stats].sort((a, b) => sign * (key === 'name' ? order(name(a), name(b)) : order(a[key], b[key])));
  }

  draw() {
    const heading = element('h2', {}, 'Where the time goes', element('span', { class: 'scope' }, this.scope));
    const head = element('tr', {}, ...NAME_COLUMNS.map((column) => {
      const on = this.sort.key === column.key || (this.sort.key === 'waits' && column.key === 'total');
      return element('th', { scope: 'col', class: column.text ? '' : 'n', 'aria-sort': on
        ? (this.sort.down ? 'descending' : 'ascending') : 'none' },
        element('button', { class: 'sort', title: column.help ?? `Sort by ${column.title}`,
          onclick: () => this.sortBy(column.key) },
          column.title, on ? element('i', {}, this.sort.key === 'waits' ? ' waits ▾' : this.sort.down ? ' ▾' : ' ▴')
            : ''));
    }));
    const longest = this.stats.reduce((m, s) => (this.rank(s) < 2 ? Math.max(m, Number(s.total)) : m), 1);
    const body = this.sorted().map((s) => this.row(s, longest));
    if (body.length === 0) body.push(element('tr', {},
      element('td', { colspan: 7, class: 'empty' }, 'No event here.')));
    this.root.replaceChildren(heading,
      element('div', { class: 'scroll' }, element('table', { class: 'grid' }, element('thead', {}, head),
      element('tbody', {}, ...body))));
  }

  row(s, longest) {
    const { app } = this, { trace, palette } = app, kind = trace.classes[s.cls].kind, instant = kind === KINDS.marker;
    const share = Number(s.total) / longest, name = trace.className(s.cls);
    const cell = (value, exact) => element('td', { class: 'n', title: exact }, value);
    const time = (ns) => (instant ? cell('', '') : cell(duration(ns), `${integer(ns)} ns`));
    const swatch = element('i', { class: `swatch ${instant ? 'marker' : ''}`,
      style: { background: palette.fill[s.cls] } });
    const total = instant ? cell('', '')
      : element('td', { class: 'n bar',
      title: `${integer(s.total)} ns; ${percent(Number(s.total) / (this.lifetime || 1))} of the warps' lifetime` },
      element('span', { class: 'fill', style: { width: `calc((100% - 8px) * ${Math.min(1, share)})`,
        background: palette.fill[s.cls] } }),
      element('span', { class: 'over' }, longDuration(s.total)));
    const choose = () => app.focusName(app.focusClass === s.cls ? -1 : s.cls);
    return element('tr', { class: `${app.focusClass === s.cls ? 'on' : ''} ${kind === KINDS.lifetime ? 'quiet' : ''}`,
      'data-cls': s.cls, onclick: choose },
      element('td', { class: 'name', title: `${name} (${KIND_NAME[kind]})` }, swatch,
        element('button', { class: 'plain', 'aria-pressed': String(app.focusClass === s.cls) }, name)),
      cell(integer(s.count), ''), total, time(Math.round(s.mean)), time(s.p50), time(s.p99), time(s.max));
  }

  sortBy(key) {
    if (this.sort.key === key) this.sort = key === 'total' && !this.sort.down ? { key: 'waits', down: true }
      : { key, down: !this.sort.down };
    else this.sort = { key, down: key !== 'name' };
    this.draw();
    this.app.link.later();
  }
}
