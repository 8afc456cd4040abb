// SPDX-License-Identifier: Apache-2.0
// dialogs.js: the dialogs: keys and mouse, files.
'use strict';

const KEYS = [
  ['W S', 'zoom in, out'], ['A D', 'pan left, right'], ['F', 'fit the selected span, else the whole trace'],
    ['Z', 'zoom to the selected event'],
  ['← →', 'previous, next event of the selected name in its warp'],
    ['Shift ← →', 'the same in the previous, next warp'],
  ['↑ ↓', 'the range around, inside the selected one; without one, the row above, below'],
    ['Enter', 'open or close the row'],
  ['[ ]', 'previous, next launch'], ['G', 'fold the gaps between launches that are far apart'],
    ['/', 'search; Enter: next match'], ['T', 'light or dark'],
    ['Esc', 'clear: event, span, name, search'],
  ['wheel', 'on the map and the scale: zoom. On rows: scroll; with Ctrl zoom, with Shift pan'],
    ['drag', 'on rows: pan. On the scale and map, or with Shift: select a span'],
  ['click', 'an SM in the map opens it; an event shows all its fields'], ['double click', 'fit an event'],
];

class Dialogs {
  constructor() {
    this.dialog = byId('dialog');
  }

  open(title, body, actions = []) {
    byId('dialog-body').replaceChildren(element('h2', {}, title), ...body);
    byId('dialog-menu').replaceChildren(...actions, element('button', { value: 'close' }, 'Close'));
    if (!this.dialog.open) this.dialog.showModal();
  }

  help() {
    this.open('Keys and mouse', [element('table', { class: 'fields keys' },
      element('tbody', {}, ...KEYS.map(([key, text]) =>
      element('tr', {}, element('th', { scope: 'row' }, key), element('td', {}, text))))),
    element('p', {}, 'The address of the page holds the view: copy it to show somebody the same place.'),
    element(
      'p', {}, 'A strip shows what the warps of its SM or CTA do: waits at the bottom in warm colours, work above ' +
      'in cool ones, and in grey warps that are alive outside every range. Its full height is all warps that are alive ' +
      'at once.')]);
  }

  files(app) {
    const links = app.files.map(({ name, size }) => element('li', {},
      element('a', { href: encodeURIComponent(name), download: name }, name), size ? ` ${fileSize(size)}` : ''));
    const scope = app.scopeText(), count = app.countInScope(app.focusClass), most = app.source.csvLimit;
    const events = count === null ? 'being counted' : plural(count, 'event'), tooMany = count > most;
    this.open('Files', [
      links.length > 0 ? element('ul', {}, ...links)
        : element('p', {}, 'This page was given its trace by hand; no file stands beside it.'),
      element('p', {}, `As CSV, one line an event: ${scope} (${events}).`),
      tooMany ? element('p', {}, `That is more than ${integer(most)} lines: select a span, SMs, warps or a name.`)
        : null,
    ].filter(Boolean),
    [element('button', { type: 'button', id: 'save-csv', disabled: tooMany || count === 0,
      onclick: () => app.saveCsv() }, 'Save as CSV')]);
  }
}
