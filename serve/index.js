// SPDX-License-Identifier: Apache-2.0
// The index page's script: a filter over the rows, and rows that appear as traces come. The page is whole without it.
'use strict';

const filter = document.getElementById('filter');

function applyFilter() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const group of document.querySelectorAll('tbody')) {
    const folder = group.querySelector('h2')?.textContent ?? '';
    let shown = 0;
    for (const row of group.querySelectorAll('tr:not(.folder)')) {
      const text = (folder + ' ' + row.textContent).toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      if (!row.hidden) shown++;
    }
    group.hidden = shown === 0;
  }
}

// The parts of the page that change, as the server wrote them last.
const written = new Map(['main', '#count'].map((part) => [part, document.querySelector(part).innerHTML]));

// Takes over what differs in a fresh copy of this page, so that nothing moves while nothing changes.
async function refresh() {
  try {
    const answer = await fetch(location.href, { cache: 'no-store' });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const [part, before] of written) {
      const theirs = fresh.querySelector(part);
      if (!theirs || theirs.innerHTML === before) continue;
      written.set(part, theirs.innerHTML);
      document.querySelector(part).replaceWith(document.adoptNode(theirs));
    }
    showForms();
    applyFilter();
  } catch {
    // The server is away: what is shown stays.
  }
}

// Sooner while facts are still to come.
function schedule() {
  setTimeout(async () => {
    if (!document.hidden) await refresh();
    schedule();
  }, document.querySelector('.pending') ? 1000 : 10000);
}

filter.hidden = false;
filter.addEventListener('input', applyFilter);
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target === filter || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  filter.focus();
});
// A part of a trace has an address of its own: what selects it stands in the name.
document.addEventListener('submit', (event) => {
  event.preventDefault();
  const fields = [...new FormData(event.target)].filter(([, value]) => value.trim());
  location.href = event.target.dataset.of + fields.map(([name, value]) => `;${name}=${encodeURIComponent(value.trim())}`).join('') + '.html';
});

const showForms = () => document.querySelectorAll('form.part').forEach((form) => { form.hidden = false; });

showForms();
applyFilter();
schedule();
document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh(); });
