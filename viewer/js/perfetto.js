// SPDX-License-Identifier: Apache-2.0
// perfetto.js: hands the trace to the Perfetto UI in another window. The bytes go from this page to that window and
// nowhere else: the UI is asked by messages until it answers, then gets one with the trace in it.
//
//     this page                    window of the UI
//     'PING' every 100 ms   --->
//                           <---   'PONG'
//     {perfetto: {buffer, title, fileName}}   --->
'use strict';

const PERFETTO_DEFAULT = 'https://ui.perfetto.dev', PERFETTO_SLICES = 5e6, PERFETTO_WAIT = 60000;

class Perfetto {
  constructor(app) {
    this.app = app;
    const chosen = new URLSearchParams(location.search).get('perfetto') ?? stored('iket-perfetto-ui');
    this.address = chosen ?? PERFETTO_DEFAULT;
    this.asked = chosen !== null || !app.origin.server; // a plain server is not asked
  }

  // Once: iket-serve may have a copy of the UI, which then stands for the public one.
  async askServer(input) {
    if (this.asked) return;
    this.asked = true;
    try {
      const { uiUrl } = await (await fetch('api/v1/server')).json();
      if (!uiUrl || this.address !== PERFETTO_DEFAULT) return;
      this.address = uiUrl;
      if (input.value === PERFETTO_DEFAULT) input.value = uiUrl;
    } catch {
      return; // then it is no iket-serve, and the default stands
    }
  }

  // What is sent: the compressed trace where there is one.
  source() {
    const { app } = this;
    if (app.dropped) return app.dropped.name.endsWith('.json') ? null
      : { name: app.dropped.name, size: app.dropped.size, blob: app.dropped };
    const file = app.files.find((f) => f.name.endsWith('.pftrace.gz'))
      ?? app.files.find((f) => f.name.endsWith('.pftrace'));
    return file ?? null;
  }

  open() {
    const { app } = this, source = this.source(), counts = app.trace.counts, slices = counts.events;
    if (!source) {
      app.dialogs.open('Open in Perfetto',
        [element(
        'p', {}, 'There is no .pftrace beside this page. iket-decode FILE --emit pftrace,pftrace.gz makes one.')]);
      return;
    }
    const address = element('input',
      { id: 'perfetto-address', type: 'url', value: this.address, 'aria-label': 'Address of the Perfetto UI' });
    const body = [
      element('p', {}, 'Address of the UI: ', address),
      element('p', {}, `A new window opens there, and this page hands it ${source.name}`, source.size
        ? ` (${fileSize(source.size)})` : '',
        `: the timeline with ${integer(counts.warps)} warps and ${integer(slices)} events, the names of kernels, ranges ` +
        'and markers, their payloads, the name of the device. It passes from window to window in this browser; the UI ' +
        'works on it there and uploads nothing by itself. Another address can be a copy that you serve.'),
    ];
    if (slices > PERFETTO_SLICES) body.push(this.tooLarge(source, slices));
    body.push(element('p', { id: 'perfetto-state', role: 'status' }));
    this.askServer(address);
    app.dialogs.open('Open in Perfetto', body,
      [element('button', { type: 'button', id: 'perfetto-open', class: 'primary',
      onclick: () => this.hand(source, address.value) }, 'Open and hand over')]);
  }

  tooLarge(source, slices) {
    return element('div', { class: 'warning', id: 'perfetto-warning' },
      element('p', {}, `${integer(slices)} slices are more than a browser's Perfetto can be trusted to hold (about 5 ` +
        `million). Instead either run its engine natively, and open ${this.address} while it runs:`),
      element('pre', {}, `trace_processor_shell server http ${source.name}`),
      element('p', {}, 'or export less:'),
      element('pre', {}, 'iket-decode DUMP --launch N      (or --cta X,Y,Z  --sm N  --time A..B)'));
  }

  say(text) {
    const state = byId('perfetto-state');
    if (state) state.textContent = text;
  }

  // In the click's handler, so that the window is no unwanted one.
  async hand(source, address) {
    let origin;
    try {
      const url = new URL(address);
      if (!/^https?:$/.test(url.protocol)) throw new TypeError('not a web address');
      origin = url.origin;
    } catch {
      this.say(`${address} is no address of a web page.`);
      return;
    }
    this.address = address;
    store('iket-perfetto-ui', address);
    const target = window.open(address);
    this.say('Reading the trace…');
    let buffer;
    try {
      buffer = await this.bytes(source);
    } catch (error) {
      this.say(`${source.name} could not be read: ${error.message}`);
      return;
    }
    if (target) this.send(target, origin, source.name, buffer);
    else this.offerAgain(address, origin, source.name, buffer);
  }

  // The browser held the window back: with the trace in hand, a second click opens it at once.
  offerAgain(address, origin, name, buffer) {
    this.say('The browser did not allow the window. The trace is ready: press the button again.');
    const again = element('button', { type: 'button', id: 'perfetto-again', class: 'primary', onclick: () => {
      const target = window.open(address);
      if (target) this.send(target, origin, name, buffer);
      else this.say('The browser still does not allow it: allow windows for this page in its address bar.');
    } }, 'Open the window now');
    byId('perfetto-open').replaceWith(again);
  }

  async bytes(source) {
    if (source.blob) return source.blob.arrayBuffer();
    const response = await fetch(new URL(encodeURIComponent(source.name), document.baseURI));
    if (!response.ok) throw new Error(`the server answers ${response.status}`);
    return response.arrayBuffer();
  }

  send(target, origin, name, buffer) {
    const started = Date.now();
    let timer = 0;
    const heard = (e) => {
      if (e.source !== target || e.origin !== origin || e.data !== 'PONG') return;
      finish('Handed over.');
      target.postMessage({ perfetto: { buffer, title: byId('trace-name').textContent || name, fileName: name } },
        origin, [buffer]);
    };
    const finish = (text) => {
      clearInterval(timer);
      window.removeEventListener('message', heard);
      this.say(text);
    };
    window.addEventListener('message', heard);
    this.say(`Waiting for ${origin} to answer…`);
    timer = setInterval(() => {
      if (target.closed) finish('The window was closed.');
      else if (Date.now() - started > PERFETTO_WAIT) {
        finish(
          `${origin} did not answer. Is it reachable from here? Give the address of a copy that you serve, or load ` +
          'the file there by hand (Files).');
      } else target.postMessage('PING', origin);
    }, 100);
  }
}

// localStorage may be forbidden.
function stored(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function store(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    return;
  }
}
