// SPDX-License-Identifier: Apache-2.0
// roles.js: warps of one kernel do different things (producer, consumer, epilogue). A role is the outermost range in
// which a warp spends most time; this tab tells of each how much of its warps' lifetime works and waits.
'use strict';

const ROLE_COLUMNS = [['role', ''], ['warps', 'n'], ['of a CTA', 'n'], ['mean life', 'n'], ['works', 'n'],
  ['waits', 'n'],
  ['', '']];

class RolesPanel {
  constructor(app) {
    this.app = app;
    this.names = [...app.trace.roles.keys()];
    this.sums = null;
  }

  // Asked for when the tab is first shown.
  show(body) {
    if (this.sums) {
      body.replaceChildren(this.table());
      return;
    }
    body.replaceChildren(element('p', { class: 'empty' }, 'Counting…'));
    if (this.asked) return;
    this.asked = true;
    const { trace, source } = this.app;
    source.roles(Uint8Array.from(trace.classes, (c) => (isWait(trace.strings[c.name]) ? 1 : 0)), (sums) => {
      this.sums = sums;
      this.app.tabs.draw();
    });
  }

  // "0, 4-7": the numbers that a role's warps have in their CTAs.
  warpNumbers(name) {
    const { trace } = this.app, numbers = new Set();
    trace.warps.forEach((node, k) => trace.warpRole[k] === name && numbers.add(trace.nodes.a[node]));
    return numberSpans([...numbers].sort((a, b) => a - b), ', ');
  }

  table() {
    const order = this.names.map((name, k) => ({ name, ...this.sums[k] })).sort((a, b) => b.lifetime - a.lifetime);
    return grid(ROLE_COLUMNS, order.map((role) => this.row(role)), { id: 'roles-table' });
  }

  row({ name, warps, lifetime, work, wait }) {
    const share = (time) => Math.max(0, Math.min(1, lifetime > 0 ? time / lifetime : 0)),
      numbers = this.warpNumbers(name);
    const part = (time, kind) => element('span', { class: `part ${kind}`, style: { width: `${share(time) * 100}%` } });
    const none = name === '-', exactly = `role:/^${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$/`;
    return element('tr', { onclick: () => this.app.search(none ? '' : exactly),
      title: none ? 'These warps have no range' : 'Show only these warps' },
    element('td', { class: 'name' }, plainButton(none ? 'no range' : name)), numberCell(integer(warps)),
    numberCell(elide(numbers, 14), numbers), timeCell(Math.round(lifetime / warps)),
    numberCell(percent(share(work)), `${integer(work)} ns`), numberCell(percent(share(wait)), `${integer(wait)} ns`),
    element('td', { class: 'stack' }, part(wait, 'wait'), part(work, 'work')));
  }
}
