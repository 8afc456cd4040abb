// SPDX-License-Identifier: Apache-2.0
// The index page's script: a filter over the rows, and rows that appear as traces come. The page is whole without it.
'use strict';

const filter = document.getElementById('filter');

function applyFilter() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const section of document.querySelectorAll('section')) {
    const folder = section.querySelector('h2')?.textContent ?? '';
    let shown = 0;
    for (const row of section.querySelectorAll('tbody tr')) {
      const text = (folder + ' ' + row.textContent).toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      if (!row.hidden) shown++;
    }
    section.hidden = shown === 0;
  }
}

// Takes over the list of a fresh copy of this page when it differs, so that nothing moves while nothing changes.
async function refresh() {
  try {
    const answer = await fetch(location.href, { cache: 'no-store' });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const part of ['main', '#count']) {
      const mine = document.querySelector(part);
      const theirs = fresh.querySelector(part);
      if (mine && theirs && mine.innerHTML !== theirs.innerHTML) mine.replaceWith(document.adoptNode(theirs));
    }
    applyFilter();
  } catch {
    // The server is away: what is shown stays.
  }
}

filter.hidden = false;
filter.addEventListener('input', applyFilter);
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target === filter || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  filter.focus();
});
applyFilter();
setInterval(() => { if (!document.hidden) refresh(); }, 10000);
document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh(); });
