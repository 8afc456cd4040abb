// SPDX-License-Identifier: Apache-2.0
// loader.js: starts the worker, gets it the trace, and says plainly what to do where there is none.
'use strict';

const facts = (() => {
  try {
    return JSON.parse(byId('facts').textContent);
  } catch { // page.html as it stands in the source tree: ?base=NAME tells the trace
    return { title: 'iket', base: new URLSearchParams(location.search).get('base') ?? 'trace', version: 'source',
      files: [] };
  }
})();

class Loader {
  constructor(onTrace) {
    this.onTrace = onTrace;
    this.answers = new Map(); // number of a question -> {then, fail}
    this.building = new Building();
    this.nextId = 1;
    this.worker = this.startWorker();
    this.worker.onmessage = ({ data }) => this.receive(data);
    this.worker.onerror = (e) => this.fail(`The page's worker failed: ${e.message ?? 'it could not be started'}`);
    for (const type of ['dragover', 'drop']) {
      window.addEventListener(type, (e) => {
        e.preventDefault();
        if (type === 'drop' && e.dataTransfer.files.length > 0) this.file(e.dataTransfer.files[0]);
      });
    }
    byId('pick').addEventListener('change', (e) => e.target.files.length > 0 && this.file(e.target.files[0]));
  }

  startWorker() {
    const source = byId('worker-source');
    let text = source.textContent;
    if (source.dataset.src) {
      const urls = source.dataset.src.split(' ').map((path) => new URL(path, document.baseURI).href);
      text = `importScripts(${urls.map((u) => JSON.stringify(u)).join()})`;
    }
    const url = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
    const worker = new Worker(url);
    return worker;
  }

  // The adjacent trace: what was there when the page was written comes first.
  begin() {
    document.title = facts.title;
    if (location.protocol === 'file:') {
      this.explain('This page was opened as a file',
        'A browser lets no page that was opened from disk read the trace beside it. Serve the folder:');
      return;
    }
    const known = facts.files.map((f) => f.suffix), all = ['.pftrace', '.pftrace.gz', '.trace.json'];
    const order = [...all.filter((s) => known.includes(s)), ...all.filter((s) => !known.includes(s))];
    this.files = order.map((suffix) => ({ name: facts.base + suffix,
      size: facts.files.find((f) => f.suffix === suffix)?.size ?? 0, known: known.includes(suffix) }));
    this.say('Loading', facts.base);
    const beside = (path) => new URL(path, document.baseURI).href;
    this.request({ load: this.files.map(({ name }) => ({ name, url: beside(encodeURIComponent(name)) })),
      api: beside(`api/v1/trace/${encodeURIComponent(facts.base)}/`),
      levels: new URLSearchParams(location.search).has('levels') });
  }

  request(what) {
    this.asked = what;
    this.worker.postMessage(what);
  }

  file(file) {
    this.dropped = file;
    this.building.hide();
    for (const id of ['main', 'search', 'actions']) byId(id).hidden = true;
    byId('start').hidden = false;
    this.say('Loading', file.name);
    this.request({ file });
  }

  receive(data) {
    const origin = () => ({ name: data.name, size: data.size, server: data.server === true,
      dropped: this.dropped ?? null, files: this.dropped ? [] : this.files.filter((f) => f.known || f.name === data.name) });
    if (this.dropped && (data.building || data.tables || data.refused)) return; // of the trace that was to be shown before
    const answer = data.answer ?? data.failed;
    if (answer) {
      const asked = this.answers.get(answer.id);
      this.answers.delete(answer.id);
      if (data.answer) asked?.then(answer);
      else asked?.fail(answer);
    } else if (data.progress) this.progress(data.progress);
    else if (data.building) this.building.show(data.building);
    else if (data.tooLarge) this.warn(data.tooLarge);
    else if (data.refused) this.refused(data.refused);
    else if (data.trace) {
      this.say('Drawing', data.name);
      this.onTrace(data.trace, new LocalSource(data.trace, this), origin());
    } else if (data.tables) {
      this.building.hide();
      this.onTrace(data.tables, new RemoteSource(data.tables, this, this.asked.api), origin());
    } else this.refuse(data.error);
  }

  // The server cannot answer about the trace: what it says, and the way out.
  refused({ name, message }) {
    this.building.hide();
    this.explain('The server cannot show this trace',
      `${name} is too large to be loaded at once, and preparing it failed: ${message}.`);
    byId('start-help').replaceChildren(element('p', {}, 'Rather export less:'), element('pre', {},
      'iket-decode DUMP --launch N      (or --cta X,Y,Z  --sm N  --warp N  --time A..B)'), this.anyway(name));
    byId('start').dataset.state = 'large';
  }

  anyway(name) {
    return element('button', { id: 'load-anyway', onclick: () => {
      this.say('Loading', name);
      this.request({ ...this.asked, sure: true });
    } }, 'Load it all the same');
  }

  // Before a trace that may be more than the browser can hold: what it would take, and the way out.
  warn({ name, size, unpacked }) {
    const events = integer(Math.round(unpacked / 36e6)), memory = Math.ceil(unpacked / 36 * 150 / 1e9);
    this.explain('This trace is very large', `${name} has ${fileSize(size)}: about ${events} million events, ` +
      `for which this page needs some ${memory} GB of memory. Rather export less:`);
    byId('start-help').replaceChildren(element('pre', {},
      'iket-decode DUMP --launch N      (or --cta X,Y,Z  --sm N  --warp N  --time A..B)'),
      element('p', {}, 'Where iket-serve shows it, its index opens a part of it by the same selectors.'),
      element('p', {}, 'Or look at it in Perfetto with its engine outside the browser, and open ' +
        'https://ui.perfetto.dev while it runs:'),
      element('pre', {}, `trace_processor_shell server http ${name}`),
      this.anyway(name));
    byId('start').dataset.state = 'large';
  }

  // Asks the worker {kind: request}; `then` gets the answer, `fail` {status, message, again}. Gives the question's number.
  ask(question, then, fail = null) {
    const id = this.nextId++, [[kind, request]] = Object.entries(question);
    this.answers.set(id, { then, fail });
    this.worker.postMessage({ [kind]: { ...request, id } });
    return id;
  }

  // True where it was still to be answered.
  cancel(id) {
    this.worker.postMessage({ cancel: id });
    return this.answers.delete(id);
  }

  progress({ what, bytes, total }) {
    const bar = byId('start-progress');
    const done = bytes > 0 ? `: ${fileSize(bytes)}${total ? ` of ${fileSize(total)}` : ''}` : '';
    byId('start-text').textContent = `${what}${done}`;
    if (total) bar.value = bytes / total;
    else bar.removeAttribute('value');
  }

  say(title, text) {
    byId('start-title').textContent = title;
    byId('start-text').textContent = text;
    byId('start-progress').hidden = false;
    byId('start-help').hidden = byId('start-drop').hidden = true;
    byId('start').dataset.state = 'loading';
  }

  refuse({ message, missing, stack }) {
    if (missing) {
      const names = this.files.map((f) => f.name).join(', ');
      this.explain('The trace is not beside this page',
        `Looked for ${names}. ${message}. Put the files beside the page, or serve their folder:`);
    } else this.fail(message);
    if (stack) console.error(stack);
  }

  fail(message) {
    byId('start-title').textContent = 'The trace cannot be shown';
    byId('start-text').textContent = message;
    byId('start-progress').hidden = true;
    byId('start-help').hidden = true;
    byId('start-drop').hidden = false;
    byId('start').dataset.state = 'error';
  }

  explain(title, text) {
    this.fail(text);
    byId('start-title').textContent = title;
    byId('start').dataset.state = 'help';
    const line = (command, meaning) => [element('dt', {}, element('code', {}, command)), element('dd', {}, meaning)];
    byId('start-help').replaceChildren(element('dl', {},
      ...line('iket-serve DIR', 'on the machine that has the files; it prints the address to open'),
      ...line('ssh -L 8080:localhost:8080 HOST',
        'on your machine when that is another one; then open http://localhost:8080'),
      ...line('python3 -m http.server 8080 --bind 127.0.0.1', 'in the folder, where iket-serve is not at hand')));
    byId('start-help').hidden = false;
  }
}
