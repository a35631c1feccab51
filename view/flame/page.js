// SPDX-License-Identifier: Apache-2.0
'use strict';
(() => {
  const row = 17, narrow = 0.4, classes = ['process', 'user', 'kernel', 'jit', 'unknown', 'fold'];
  const data = JSON.parse(document.getElementById('data').textContent);
  const get = id => document.getElementById(id);
  const graph = get('graph'), search = get('search'), matched = get('matched'), detail = get('detail'), reset = get('reset');

  const nodes = build(data.nodes);
  const root = nodes[0], deepest = nodes.reduce((d, n) => Math.max(d, n.depth), 0);
  let zoomed = root, at = root, icicle = false, matches = null;

  // build makes a tree of the list, in which each node comes before those below it.
  function build(list) {
    const open = [];
    return list.map(([depth, text, note, kind, width, own, count]) => {
      const n = { depth, text: data.texts[text], note: data.texts[note], kind, width, own, count, below: [], start: 0, parent: null, filled: 0 };
      if (depth > 0) {
        n.parent = open[depth - 1];
        n.start = n.parent.start + n.parent.filled;
        n.parent.filled += width;
        n.parent.below.push(n);
      }
      open[depth] = n;
      return n;
    });
  }

  function above(n, other) {
    for (let p = other.parent; p; p = p.parent) if (p === n) return true;
    return false;
  }

  function draw() {
    const full = graph.clientWidth, parts = document.createDocumentFragment();
    const scale = zoomed.width > 0 ? full / zoomed.width : 0;
    graph.style.height = (deepest + 1) * row + 'px';
    const visit = n => {
      const over = n !== zoomed && above(n, zoomed);
      const x = over ? 0 : (n.start - zoomed.start) * scale;
      const width = over ? full : n.width * scale;
      if (width < narrow && n !== root) return;
      parts.append(box(n, x, width, over));
      if (over) visit(next(n)); else n.below.forEach(visit);
    };
    visit(root);
    graph.replaceChildren(parts);
    reset.disabled = zoomed === root;
  }

  // next is the one below n that leads to the zoomed one.
  function next(n) {
    let c = zoomed;
    while (c.parent !== n) c = c.parent;
    return c;
  }

  function box(n, x, width, over) {
    const b = document.createElement('div');
    b.className = classes[n.kind] + ' s' + shade(n.text) + (over ? ' above' : '') + (n === at ? ' at' : '') + (matches && matches.has(n) ? ' match' : '');
    b.style.left = x + 'px';
    b.style.width = Math.max(width, 1) + 'px';
    b.style.top = (icicle ? n.depth : deepest - n.depth) * row + 'px';
    if (width < 12) b.style.padding = '0';
    if (width > 20) b.textContent = n.text;
    b.title = words(n);
    b.node = n;
    return b;
  }

  function shade(text) {
    let h = 0;
    for (let i = 0; i < text.length; i++) h = (h * 31 + text.charCodeAt(i)) >>> 0;
    return h % 5;
  }

  function amount(v) {
    if (data.unit === 'count') return String(v);
    for (const [size, unit] of [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs']]) {
      if (v >= size) return Number((v / size).toPrecision(4)) + ' ' + unit;
    }
    return v + ' ns';
  }

  function share(v, of) { return of > 0 ? (100 * v / of).toFixed(2) + '%' : '0%'; }

  function words(n) {
    let t = n.text + (n.note ? ' · ' + n.note : '') + ' · ' + amount(n.width) + ' (' + share(n.width, root.width);
    if (zoomed !== root) t += ', ' + share(n.width, zoomed.width) + ' of what is shown';
    t += ')';
    if (data.unit !== 'count') t += ', ' + n.count + '×';
    if (n.own > 0) t += ' · own ' + amount(n.own) + ' (' + share(n.own, root.width) + ')';
    return t;
  }

  function go(n) {
    at = n;
    for (const b of graph.children) b.classList.toggle('at', b.node === n);
    detail.textContent = words(n);
    const shown = graph.querySelector('.at');
    if (shown) shown.scrollIntoView({ block: 'nearest' });
  }

  function zoom(n) {
    zoomed = n;
    at = n;
    draw();
    go(n);
    tell();
  }

  function find(text) {
    matches = null;
    if (text) {
      let fits;
      const expression = /^\/(.+)\/$/.exec(text);
      if (expression) {
        let pattern;
        try { pattern = new RegExp(expression[1], 'i'); } catch (e) { matched.textContent = 'not an expression'; draw(); return; }
        fits = t => pattern.test(t);
      } else {
        const low = text.toLowerCase();
        fits = t => t.toLowerCase().includes(low);
      }
      const which = data.texts.map(fits);
      matches = new Set();
      data.nodes.forEach((n, i) => { if (which[n[1]]) matches.add(nodes[i]); });
    }
    draw();
    tell();
  }

  // tell says how much of what is shown has a match in its stack: each stack once.
  function tell() {
    if (!matches) { matched.textContent = ''; return; }
    const sum = n => matches.has(n) ? n.width : n.below.reduce((s, c) => s + sum(c), 0);
    const v = sum(zoomed);
    matched.textContent = matches.size + ' frames, ' + share(v, zoomed.width) + (zoomed === root ? '' : ' of what is shown');
  }

  function sibling(n, step) {
    const all = n.parent ? n.parent.below : [n];
    return all[all.indexOf(n) + step] || n;
  }

  const keys = {
    ArrowLeft: () => go(sibling(at, -1)),
    ArrowRight: () => go(sibling(at, 1)),
    ArrowUp: () => go(icicle ? at.parent || at : at.below[0] || at),
    ArrowDown: () => go(icicle ? at.below[0] || at : at.parent || at),
    Enter: () => zoom(at),
    Home: () => go(root),
  };

  graph.addEventListener('keydown', e => {
    if (!keys[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    keys[e.key]();
  });
  document.addEventListener('keydown', e => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const typing = e.target === search;
    if (e.key === 'Escape') {
      if (search.value) { search.value = ''; find(''); } else zoom(root);
      graph.focus();
    } else if (e.key === '/' && !typing) {
      e.preventDefault();
      search.focus();
    } else if (e.key === 'i' && !typing) turn();
  });

  function turn() {
    icicle = !icicle;
    get('turn').textContent = icicle ? 'Flame' : 'Icicle';
    get('turn').setAttribute('aria-pressed', String(icicle));
    draw();
  }

  graph.addEventListener('click', e => { if (e.target.node) zoom(e.target.node); });
  graph.addEventListener('mouseover', e => { if (e.target.node) detail.textContent = words(e.target.node); });
  get('bar').addEventListener('submit', e => e.preventDefault());
  search.addEventListener('input', () => find(search.value));
  reset.addEventListener('click', () => zoom(root));
  get('turn').addEventListener('click', turn);

  const dark = () => (document.documentElement.dataset.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
  const name = () => { get('theme').textContent = dark() ? 'Light' : 'Dark'; };
  get('theme').addEventListener('click', () => { document.documentElement.dataset.theme = dark() ? 'light' : 'dark'; name(); });
  name();
  window.addEventListener('resize', draw);
  draw();
})();
