// SPDX-License-Identifier: Apache-2.0
// Runs the page's script on a document made of the few things that it uses: try.js PAGE
'use strict';
const fs = require('fs'), assert = require('assert');
const page = fs.readFileSync(process.argv[2], 'utf8');
const scripts = [...page.matchAll(/<script([^>]*)>([^]*?)<\/script>/g)];
const [dataText, code] = [scripts[0][2], scripts[1][2]];

class Element {
  constructor() {
    this.style = {}; this.dataset = {}; this.children = []; this.on = {}; this.className = ''; this.textContent = ''; this.value = ''; this.attributes = {};
    this.clientWidth = 1000;
    const self = this;
    this.classList = {
      toggle(name, yes) {
        const all = new Set(self.className.split(' '));
        if (yes) all.add(name); else all.delete(name);
        self.className = [...all].join(' ');
      },
    };
  }
  append(...more) { this.children.push(...more); }
  replaceChildren(part) { this.children = part.children; }
  addEventListener(kind, f) { this.on[kind] = f; }
  setAttribute(name, value) { this.attributes[name] = value; }
  querySelector(s) { return this.children.find(c => c.className.split(' ').includes(s.slice(1))) || null; }
  scrollIntoView() {}
  focus() { focused = this; }
}
let focused = null;
const byId = {};
const document = {
  documentElement: new Element(), on: {},
  getElementById: id => byId[id] = byId[id] || new Element(),
  createElement: () => new Element(),
  createDocumentFragment: () => new Element(),
  addEventListener(kind, f) { this.on[kind] = f; },
};
document.getElementById('data').textContent = dataText;
const window = new Element();
new Function('document', 'window', 'matchMedia', code)(document, window, () => ({ matches: false }));

const { graph, search, matched, detail, reset, turn, theme } = byId;
const press = (key, target = graph) => {
  const e = { key, target, preventDefault() {} };
  if (target === graph) graph.on.keydown(e);
  document.on.keydown(e);
};
const find = text => graph.children.find(b => b.node.text === text);
const px = v => Math.round(parseFloat(v) * 1000) / 1000;

// all is as wide as the graph, and rows lie on each other
assert.strictEqual(px(graph.children[0].style.width), 1000);
const whole = graph.children.length;
assert.ok(whole > 10, 'frames are drawn');
for (const b of graph.children) {
  const p = b.node.parent && graph.children.find(o => o.node === b.node.parent);
  if (!p) continue;
  assert.strictEqual(px(b.style.top), px(p.style.top) - 17);
  assert.ok(px(b.style.left) >= px(p.style.left) - 0.01 && px(b.style.left) + px(b.style.width) <= px(p.style.left) + px(p.style.width) + 0.01);
}
// zoom by click
const scan = find('ExecScan').node;
graph.on.click({ target: find('ExecScan') });
assert.strictEqual(px(find('ExecScan').style.width), 1000);
assert.strictEqual(px(find('main').style.width), 1000);
assert.ok(!find('inflate_page') && !reset.disabled);
assert.ok(detail.textContent.includes('ExecScan · postgres · 404 ms (40.00%, 100.00% of what is shown)'), detail.textContent);
press('Escape');
assert.strictEqual(graph.children.length, whole);
assert.ok(reset.disabled);
// search: each stack counts once, also where a function calls itself
search.value = 'execproc';
search.on.input();
assert.strictEqual(matched.textContent, '3 frames, 67.00%');
assert.strictEqual(graph.children.filter(b => b.className.includes('match')).length, 3);
search.value = '/^(vfs|Exec)/';
search.on.input();
assert.ok(matched.textContent.endsWith('67.00%'), matched.textContent);
search.value = '/(/';
search.on.input();
assert.strictEqual(matched.textContent, 'not an expression');
press('Escape');
assert.strictEqual(search.value + matched.textContent, '');
assert.strictEqual(focused, graph);
// keys
press('Home');
press('ArrowUp');
assert.ok(detail.textContent.startsWith('postgres (pid 100)'), detail.textContent);
press('ArrowRight');
assert.ok(detail.textContent.startsWith('node (pid 200)'), detail.textContent);
press('Enter');
assert.strictEqual(px(find('node (pid 200)').style.width), 1000);
press('/');
assert.strictEqual(focused, search);
press('Escape', search);
press('i');
assert.strictEqual(px(graph.children[0].style.top), 0);
assert.strictEqual(turn.textContent, 'Flame');
press('ArrowDown');
press('ArrowUp');
theme.on.click();
assert.strictEqual(document.documentElement.dataset.theme, 'dark');
assert.strictEqual(theme.textContent, 'Light');
window.on.resize();
assert.ok(scan);
