'use strict';
// Text that a client or a command chose is only set as textContent; nothing here makes markup from text.
(() => {
  const root = document.documentElement;
  const failed = () => { root.dataset.errors = String(Number(root.dataset.errors) + 1); };
  for (const event of ['error', 'unhandledrejection', 'securitypolicyviolation']) window.addEventListener(event, failed);

  const CHUNK = 200, MOST_PRINTED = 5000, PARTS = 96;
  const data = JSON.parse(document.getElementById('data').textContent);
  const at = (id) => document.getElementById(id);
  const make = (name, kind, ...children) => {
    const element = document.createElement(name);
    if (kind) element.className = kind;
    for (const child of children) if (child !== undefined && child !== null) element.append(child);
    return element;
  };
  const counted = (number) => number.toLocaleString('en');
  const duration = (ms) => {
    if (ms === undefined) return '';
    if (ms < 1000) return ms + ' ms';
    if (ms < 60000) return (ms / 1000).toFixed(ms < 10000 ? 2 : 1) + ' s';
    const minutes = Math.floor(ms / 60000);
    return minutes < 60 ? minutes + ' min ' + Math.round(ms % 60000 / 1000) + ' s' : Math.floor(minutes / 60) + ' h ' + minutes % 60 + ' min';
  };
  const bytes = (count) => {
    if (count === undefined) return '';
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let unit = 0;
    while (count >= 1024 && unit < units.length - 1) { count /= 1024; unit += 1; }
    return (unit && count < 10 ? count.toFixed(1) : Math.round(count)) + ' ' + units[unit];
  };
  const clock = (time) => (time || '').slice(0, 19).replace('T', ' ');

  const NAMES = { allowed: 'Allowed', failed: 'Failed', refused: 'Refused', asked: 'Asked', other: 'Other' };
  const rows = data.rows;
  for (const [index, row] of rows.entries()) {
    row.index = index;
    row.at = /^\d{4}-/.test(row.time || '') ? Date.parse(row.time) : NaN;
    const output = (row.stdout || 0) + (row.stderr || 0);
    row.output = row.stdout === undefined && row.stderr === undefined ? undefined : output;
    const facts = (row.facts || []).map((fact) => fact[1]);
    row.text = [row.command, row.outcome, row.why, row.rule, ...facts].join('\n').toLowerCase();
  }
  const isTimed = rows.length > 0 && rows.every((row) => !Number.isNaN(row.at));

  // What is shown. It is also in the address, so that a view can be shared.
  const view = { q: '', show: 'all', session: '', sort: 'time', part: -1 };
  const read = () => {
    const given = new URLSearchParams(location.hash.slice(1));
    view.q = given.get('q') || '';
    view.show = given.get('show') in NAMES ? given.get('show') : 'all';
    const session = given.get('session');
    view.session = session !== null && Number(session) in data.sessions ? session : '';
    view.sort = ['duration', 'output'].includes(given.get('sort')) ? given.get('sort') : 'time';
    const part = Number(given.get('part') ?? -1);
    view.part = Number.isInteger(part) && part >= 0 && part < PARTS ? part : -1;
    at('query').value = view.q;
    at('session').value = view.session;
    at('sort').value = view.sort;
  };
  const write = () => {
    const kept = new URLSearchParams();
    for (const [key, value] of Object.entries(view)) {
      if (value !== '' && value !== 'all' && value !== -1 && !(key === 'sort' && value === 'time')) kept.set(key, value);
    }
    try {
      history.replaceState(null, '', String(kept) ? '#' + kept : location.pathname + location.search);
    } catch {
      // Some browsers don't change the address of a file; the page works without it.
    }
  };

  // The parts of the timeline, by time, or by position if there are no times.
  const times = rows.map((row) => isTimed ? row.at : row.index);
  const first = times.reduce((least, time) => Math.min(least, time), Infinity);
  const last = times.reduce((most, time) => Math.max(most, time), -Infinity);
  const partOf = (row) => last > first ? Math.min(PARTS - 1, Math.floor((times[row.index] - first) / (last - first) * PARTS)) : 0;
  const isOf = (row, kind) => kind === 'asked' ? row.asked : row.kind === kind || (kind === 'allowed' && row.kind === 'failed');

  let found = [], shown = 0;
  const matches = (row, words, kind) =>
    (kind === 'all' || isOf(row, kind)) &&
    (view.session === '' || row.session === Number(view.session)) &&
    (view.part < 0 || partOf(row) === view.part) &&
    words.every((word) => row.text.includes(word));

  const facts = (pairs) => {
    const list = make('dl', 'facts');
    for (const [name, value] of pairs) list.append(make('dt', '', name), make('dd', /SHA-256|command|program|directory/i.test(name) ? 'mono' : '', value));
    return list;
  };
  const longest = rows.reduce((most, row) => Math.max(most, row.ms || 0), 1);
  const line = (row) => {
    const took = make('span', 'number duration', duration(row.ms));
    if (row.ms && row.ms > longest / 50) {
      const bar = make('i');
      bar.style.width = row.ms / longest * 100 + '%';
      took.append(bar);
    }
    const command = make('span', 'command', row.command || '–');
    if (row.why) command.append(make('span', 'why', row.why));
    const summary = make('summary', 'row',
      make('span', 'time', isTimed ? clock(row.time) : row.time || '#' + (row.index + 1)),
      make('span', 'outcome', row.outcome), command, make('span', 'rule', row.rule || ''),
      make('span', 'number', row.exit === undefined ? '' : row.exit), took, make('span', 'number', bytes(row.output)));
    const details = make('details', row.kind, summary);
    details.addEventListener('toggle', () => {
      if (!details.open || details.childElementCount > 1) return;
      const session = data.sessions[row.session];
      const pairs = [['Command', row.command], ...(row.rule ? [['Rule', row.rule]] : []), ...(row.facts || [])];
      if (session) pairs.push(['Session', session.name]);
      details.append(make('div', 'more', facts(pairs)));
    });
    return make('li', '', details);
  };
  const more = (count) => {
    const part = document.createDocumentFragment();
    for (const row of found.slice(shown, shown + count)) part.append(line(row));
    shown = Math.min(found.length, shown + count);
    at('calls').append(part);
    at('more').hidden = shown >= found.length;
    at('show-more').textContent = 'Show ' + counted(Math.min(CHUNK, found.length - shown)) + ' more';
  };

  const SVG = 'http://www.w3.org/2000/svg';
  const draw = () => {
    const sums = Array.from({ length: PARTS }, () => ({ allowed: 0, failed: 0, refused: 0, other: 0, all: 0 }));
    const words = view.q.toLowerCase().split(/\s+/).filter(Boolean);
    const part = view.part;
    view.part = -1;
    for (const row of rows) {
      if (!matches(row, words, view.show)) continue;
      const sum = sums[partOf(row)];
      sum[row.kind] += 1;
      sum.all += 1;
    }
    view.part = part;
    const most = sums.reduce((highest, sum) => Math.max(highest, sum.all), 1);
    const svg = document.createElementNS(SVG, 'svg');
    svg.setAttribute('viewBox', '0 0 ' + PARTS * 10 + ' 100');
    svg.setAttribute('preserveAspectRatio', 'none');
    svg.setAttribute('aria-hidden', 'true');
    const rect = (kind, x, y, width, height) => {
      const shape = document.createElementNS(SVG, 'rect');
      for (const [key, value] of Object.entries({ class: kind, x, y, width, height })) shape.setAttribute(key, value);
      svg.append(shape);
    };
    sums.forEach((sum, index) => {
      let y = 100;
      for (const kind of ['allowed', 'other', 'failed', 'refused']) {
        if (!sum[kind]) continue;
        const height = Math.max(4, sum[kind] / most * 92);
        y -= height;
        rect('bar ' + kind, index * 10 + 1, y, 8, height);
      }
    });
    if (view.part >= 0) rect('choice', view.part * 10, 0, 10, 100);
    at('timeline').replaceChildren(svg);
    at('timeline-section').hidden = rows.length < 2;
    const when = (value) => isTimed ? clock(new Date(value).toISOString()) : '#' + (Math.round(value) + 1);
    if (rows.length) {
      at('first').textContent = when(first);
      at('last').textContent = when(last);
    }
    const width = (last - first) / PARTS;
    at('chosen').textContent = view.part < 0 ? '' : when(first + view.part * width) + ' – ' + when(first + (view.part + 1) * width) + '  (Esc: all)';
  };

  const update = () => {
    const words = view.q.toLowerCase().split(/\s+/).filter(Boolean);
    const counts = { all: 0, allowed: 0, failed: 0, refused: 0, asked: 0, other: 0 };
    found = [];
    for (const row of rows) {
      if (!matches(row, words, 'all')) continue;
      counts.all += 1;
      for (const kind of Object.keys(NAMES)) if (isOf(row, kind)) counts[kind] += 1;
      if (view.show === 'all' || isOf(row, view.show)) found.push(row);
    }
    const size = view.sort === 'duration' ? (row) => row.ms ?? -1 : (row) => row.output ?? -1;
    if (view.sort !== 'time') found.sort((one, other) => size(other) - size(one) || one.index - other.index);
    for (const button of at('kinds').children) {
      button.setAttribute('aria-pressed', String(button.value === view.show));
      button.lastChild.textContent = counted(counts[button.value]);
    }
    shown = 0;
    at('calls').replaceChildren();
    more(CHUNK);
    if (!found.length) at('calls').append(make('li', 'empty', rows.length ? 'Nothing matches.' : 'There are no calls in these files.'));
    at('status').textContent = found.length === rows.length
      ? counted(rows.length) + (rows.length === 1 ? ' entry' : ' entries')
      : counted(found.length) + ' of ' + counted(rows.length) + ' entries';
    root.dataset.found = String(found.length);
    draw();
  };
  const change = (changes) => { Object.assign(view, changes); write(); update(); };

  // The parts that do not change.
  at('sources').textContent = data.sources.join(', ');
  if (data.chain) {
    at('chain').hidden = false;
    at('chain').classList.add(data.chain.intact ? 'intact' : 'broken');
    at('chain').textContent = data.chain.text;
  }
  const sum = (test) => rows.filter(test).length;
  const isCall = (row) => row.call !== undefined;
  const tiles = [
    ['Calls', counted(sum(isCall)), ''],
    ['Allowed', counted(sum((row) => isCall(row) && (row.kind === 'allowed' || row.kind === 'failed'))), 'allowed'],
    ['Refused', counted(sum((row) => row.kind === 'refused')), 'refused'],
    ['Asked', counted(sum((row) => row.asked)), 'asked'],
    ['Failed', counted(sum((row) => row.kind === 'failed')), 'failed'],
    ['Time in commands', duration(rows.reduce((total, row) => total + (row.ms || 0), 0)), ''],
    ['Output', bytes(rows.reduce((total, row) => total + (row.output || 0), 0)), ''],
  ];
  for (const [name, value, kind] of tiles) {
    at('summary').append(make('div', kind && value !== '0' ? 'toned ' + kind : '', make('dt', '', name), make('dd', '', value)));
  }
  for (const [index, session] of data.sessions.entries()) {
    const title = make('summary', '', make('b', '', 'Session ' + session.name.slice(0, 8)), '  ', session.title);
    at('sessions').append(make('details', '', title, facts(session.facts)));
    if (index === 9 && data.sessions.length > 12) {
      at('sessions').append(make('p', 'empty', 'and ' + counted(data.sessions.length - 10) + ' more sessions'));
      break;
    }
  }
  for (const [kind, name] of [['all', 'All'], ...Object.entries(NAMES)]) {
    const button = make('button', kind, name, make('span'));
    button.type = 'button';
    button.value = kind;
    button.addEventListener('click', () => change({ show: kind }));
    at('kinds').append(button);
  }
  at('session').append(new Option('all', ''));
  data.sessions.forEach((session, index) => at('session').append(new Option(session.name.slice(0, 8) + '  ' + session.title, String(index))));
  at('session-label').hidden = data.sessions.length < 2;
  at('footer').textContent = data.note;

  let waiting;
  at('query').addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => change({ q: at('query').value }), 80);
  });
  at('controls').addEventListener('submit', (event) => event.preventDefault());
  at('session').addEventListener('change', () => change({ session: at('session').value }));
  at('sort').addEventListener('change', () => change({ sort: at('sort').value }));
  at('show-more').addEventListener('click', () => more(CHUNK));
  at('timeline').addEventListener('click', (event) => {
    const box = at('timeline').getBoundingClientRect();
    const part = Math.min(PARTS - 1, Math.max(0, Math.floor((event.clientX - box.left) / box.width * PARTS)));
    change({ part: view.part === part ? -1 : part });
  });
  at('timeline').addEventListener('keydown', (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    change({ part: Math.min(PARTS - 1, Math.max(0, view.part < 0 ? (step > 0 ? 0 : PARTS - 1) : view.part + step)) });
  });
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      at('query').focus();
    } else if (event.key === 'Escape' && view.part >= 0) {
      change({ part: -1 });
    }
  });
  if ('IntersectionObserver' in window) {
    new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting) && shown > 0 && shown < found.length) more(CHUNK);
    }, { rootMargin: '600px' }).observe(at('more'));
  }
  // On paper the filters can't be seen, so the page says how they were set.
  window.addEventListener('beforeprint', () => {
    more(Math.max(0, MOST_PRINTED - shown));
    const chosen = [
      view.q && 'search: ' + view.q,
      view.show !== 'all' && 'shown: ' + NAMES[view.show],
      view.session !== '' && 'session: ' + data.sessions[view.session].name,
      view.sort !== 'time' && (view.sort === 'duration' ? 'longest first' : 'most output first'),
    ].filter(Boolean);
    at('printed').textContent = [
      shown < found.length ? 'The first ' + counted(shown) + ' of ' + counted(found.length) + ' entries are printed.' : counted(found.length) + ' of ' + counted(rows.length) + ' entries.',
      ...chosen,
    ].join(' · ');
  });
  window.addEventListener('hashchange', () => { read(); update(); });
  read();
  update();
  root.dataset.ready = 'true';
})();
