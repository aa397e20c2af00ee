"""How the page of attention maps looks in its frame, and the little program that draws it."""

from __future__ import annotations

STYLE = """
blockquote { margin: .6rem 0 1rem; padding-left: .9rem; border-left: 3px solid var(--mid);
  max-width: 60rem; max-height: 9rem; overflow: auto; }
.panes { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 4fr); gap: 1.6rem;
  align-items: start; }
@media (max-width: 60rem) { .panes { grid-template-columns: minmax(0, 1fr); } }
.scroll { overflow: auto; max-width: 100%; }
table.heads { border-collapse: separate; border-spacing: 3px; }
.heads th { font-size: .72rem; font-weight: 500; color: var(--soft); padding: 0 .25rem; }
.heads th[scope=row] { text-align: right; white-space: nowrap; }
.heads td { padding: 0; }
.heads button { display: block; padding: 0; border: 1px solid var(--line); border-radius: 4px;
  background: var(--none); cursor: pointer; line-height: 0; }
.heads canvas { width: clamp(1.6rem, 2.5vw, 2.6rem); height: clamp(1.6rem, 2.5vw, 2.6rem);
  border-radius: 3px; image-rendering: pixelated; display: block; }
.heads button[aria-pressed=true] { outline: 3px solid var(--mark); outline-offset: 1px; }
button:focus-visible, select:focus-visible { outline: 3px solid var(--mid); outline-offset: 2px; }
.bar { display: flex; flex-wrap: wrap; gap: .4rem 1.2rem; align-items: center;
  margin: .2rem 0 .8rem; font-size: .9rem; }
.ramp { display: inline-block; width: 8rem; height: .8rem; border-radius: 2px; vertical-align: -1px;
  border: 1px solid var(--line); }
.map { display: grid; grid-template-columns: auto auto; width: max-content; --cell: 1.1rem; }
.map .across { grid-column: 2; display: flex; align-items: flex-end; }
.map .across span { flex: 0 0 var(--cell); writing-mode: vertical-rl; transform: rotate(180deg);
  font-size: min(.78rem, calc(var(--cell) * .8)); line-height: var(--cell); white-space: pre;
  overflow: hidden; max-height: 7rem; }
.map .down button { display: block; width: 100%; height: var(--cell); padding: 0 .4rem; border: 0;
  background: none; color: inherit; text-align: right; white-space: pre; cursor: pointer;
  font: inherit; font-size: min(.78rem, calc(var(--cell) * .8)); line-height: var(--cell);
  max-width: 9rem; overflow: hidden; text-overflow: ellipsis; border-radius: 3px; }
.map .down button[aria-pressed=true], .map .across span.strong { color: var(--mark);
  font-weight: 650; }
.map canvas { display: block; image-rendering: pixelated; border: 1px solid var(--line); }
.map .sheet { position: relative; }
.map .row { position: absolute; left: 0; right: 0; border: 2px solid var(--mark);
  pointer-events: none; height: var(--cell); }
#said { min-height: 3.2em; font-variant-numeric: tabular-nums; }
#said bdi { white-space: pre-wrap; font-weight: 600; }
select { font: inherit; padding: .1rem .4rem; color: inherit; background: var(--raised);
  border: 1px solid var(--line); border-radius: 4px; }
"""

# In a function of its own: a window has names already, `top` among them.
SCRIPT = """
(() => {
'use strict';
const told = JSON.parse(document.getElementById('maps').textContent);
const {tokens, layers, heads} = told, num = tokens.length;
const raw = Uint8Array.from(atob(told.shares), c => c.charCodeAt(0));
const shares = new Uint16Array(raw.buffer);
const $ = id => document.getElementById(id);
const share = (l, h, i, j) => shares[((l * heads + h) * num + i) * num + j] / 65535;
let layer = 0, head = 0, row = Math.min(1, num - 1), scale = 'own';

function colour(name) {
  const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
}
function ramp() {
  const stops = ['--none', '--mid', '--full'].map(colour), made = new Uint8Array(256 * 3);
  for (let v = 0; v < 256; v++) {
    const t = v / 255 * 2, k = Math.min(1, Math.floor(t)), f = t - k;
    for (let c = 0; c < 3; c++)
      made[v * 3 + c] = stops[k][c] + (stops[k + 1][c] - stops[k][c]) * f;
  }
  return made;
}
let colours = ramp();

function top(l, h) {
  if (scale === 'one') return 1;
  let most = 0;
  const start = (l * heads + h) * num * num;
  for (let k = start; k < start + num * num; k++) if (shares[k] > most) most = shares[k];
  return Math.max(most / 65535, 1e-4);
}
function draw(canvas, l, h) {
  canvas.width = canvas.height = num;
  const image = new ImageData(num, num), most = top(l, h);
  for (let k = 0; k < num * num; k++) {
    const s = share(l, h, 0, k);
    const v = Math.round(255 * Math.sqrt(Math.min(1, s / most)));
    image.data.set(colours.subarray(v * 3, v * 3 + 3), k * 4);
    image.data[k * 4 + 3] = 255;
  }
  canvas.getContext('2d').putImageData(image, 0, 0);
}
const visible = t => t.replace(/\\n/g, '\\u21b5').replace(/\\t/g, '\\u21e5');

const grid = $('grid'), buttons = [];
for (let l = 0; l < layers; l++) {
  const line = grid.insertRow(), name = document.createElement('th');
  name.scope = 'row'; name.textContent = 'layer ' + (l + 1); line.append(name);
  for (let h = 0; h < heads; h++) {
    const button = document.createElement('button'), canvas = document.createElement('canvas');
    button.type = 'button'; button.tabIndex = -1;
    button.setAttribute('aria-label', 'layer ' + (l + 1) + ', head ' + (h + 1));
    button.title = button.getAttribute('aria-label');
    button.append(canvas); line.insertCell().append(button); buttons.push(button);
    button.addEventListener('click', () => choose(l, h));
    button.addEventListener('keydown', event => {
      const move = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0],
        Home: [0, -heads], End: [0, heads]}[event.key];
      if (!move) return;
      event.preventDefault();
      choose(Math.max(0, Math.min(layers - 1, l + move[0])),
             Math.max(0, Math.min(heads - 1, h + move[1])), true);
    });
  }
}
const down = $('down'), across = $('across'), rows = [];
tokens.forEach((token, i) => {
  const button = document.createElement('button');
  button.type = 'button'; button.tabIndex = -1; button.textContent = visible(token);
  button.title = JSON.stringify(token);
  button.addEventListener('click', () => { row = i; say(); });
  button.addEventListener('keydown', event => {
    const move = {ArrowUp: -1, ArrowDown: 1, Home: -num, End: num}[event.key];
    if (!move) return;
    event.preventDefault();
    row = Math.max(0, Math.min(num - 1, i + move)); say(); rows[row].focus();
  });
  down.append(button); rows.push(button);
  const column = document.createElement('span');
  column.textContent = visible(token); column.title = JSON.stringify(token); across.append(column);
});
const cell = Math.max(5, Math.min(26, Math.floor(620 / num)));
$('map').style.setProperty('--cell', cell + 'px');
const sheet = $('sheet').querySelector('canvas');
sheet.style.width = sheet.style.height = cell * num + 'px';

function say() {
  rows.forEach((button, i) => {
    button.setAttribute('aria-pressed', i === row); button.tabIndex = i === row ? 0 : -1;
  });
  $('row').style.top = cell * row + 'px';
  const order = tokens.map((_, j) => j)
    .sort((a, b) => share(layer, head, row, b) - share(layer, head, row, a)).slice(0, 5);
  [...across.children].forEach((span, j) => span.classList.toggle('strong', order[0] === j));
  const said = $('said');
  said.textContent = '';
  const word = j => {
    const b = document.createElement('bdi'); b.textContent = visible(tokens[j]); return b; };
  said.append(word(row), ' (token ' + (row + 1) + ') reads ');
  order.forEach((j, k) => {
    if (k) said.append(', ');
    said.append(word(j), ' ' + (100 * share(layer, head, row, j)).toFixed(1) + '%');
  });
  said.append('.');
}
function choose(l, h, focus) {
  layer = l; head = h;
  buttons.forEach((button, k) => {
    const here = k === l * heads + h;
    button.setAttribute('aria-pressed', here); button.tabIndex = here ? 0 : -1;
    if (here && focus) button.focus();
  });
  $('which').textContent = 'Layer ' + (l + 1) + ', head ' + (h + 1);
  $('most').textContent = (100 * top(l, h)).toFixed(1) + '%';
  draw(sheet, l, h); say();
}
function drawAll() {
  colours = ramp();
  const at = v => 'rgb(' + [...colours.subarray(v * 3, v * 3 + 3)] + ')';
  const stops = [0, 51, 102, 153, 204, 255].map(v => at(v) + ' ' + 100 * (v / 255) ** 2 + '%');
  $('ramp').style.background = 'linear-gradient(90deg,' + stops + ')';
  buttons.forEach((button, k) =>
    draw(button.firstChild, Math.floor(k / heads), k % heads));
  choose(layer, head);
}
function placeOf(event) {
  const box = sheet.getBoundingClientRect();
  const at = (v, size) => Math.max(0, Math.min(num - 1, Math.floor(v / size * num)));
  return [at(event.clientY - box.top, box.height), at(event.clientX - box.left, box.width)];
}
sheet.addEventListener('mousemove', event => {
  const [i, j] = placeOf(event);
  sheet.title = JSON.stringify(tokens[i]) + ' reads ' + JSON.stringify(tokens[j]) + ': '
    + (100 * share(layer, head, i, j)).toFixed(2) + '%';
});
sheet.addEventListener('click', event => { row = placeOf(event)[0]; say(); });
$('scale').addEventListener('change', event => { scale = event.target.value; drawAll(); });
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
drawAll();
})();
"""
