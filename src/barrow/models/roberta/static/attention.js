// Draws the heat maps. In a function of its own: a window has names already, `top` among them.
(() => {
'use strict';
const told = JSON.parse(document.getElementById('data').textContent);
const {tokens, layers, heads} = told, num = tokens.length;
const raw = Uint8Array.from(atob(told.shares), c => c.charCodeAt(0));
const shares = new Uint16Array(raw.buffer);
const $ = id => document.getElementById(id);
const share = (l, h, i, j) => shares[((l * heads + h) * num + i) * num + j] / 65535;
let layer = 0, head = 0, row = Math.min(1, num - 1), scale = 'own';

const probe = document.createElement('i');
document.body.append(probe);
function colour(name) {
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color.match(/\d+/g).slice(0, 3).map(Number);
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
const visible = t => t.replace(/\n/g, '\u21b5').replace(/\t/g, '\u21e5');

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
