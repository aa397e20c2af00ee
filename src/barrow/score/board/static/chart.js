// Bits per byte against what a model cost, both axes logarithmic.
const AXES = { params: ["Parameters", amount], train_tokens: ["Training tokens", amount],
  size: ["Size of the weights", size] };
const MOST_LINES = 6;
const FAR = 1.8;
const ticks = (low, high) => {
  const found = [];
  const wide = high / low;
  if (wide >= 8) {
    const steps = wide > 1e4 ? [1] : [1, 2, 5];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1)
      for (const step of steps) found.push(step * 10 ** power);
  } else {
    const rough = (high - low) / 5;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((one) => one * power >= rough);
    for (let k = Math.ceil(low / step); k * step <= high; k += 1) found.push(k * step);
  }
  return found.filter((value) => value >= low && value <= high)
    .map((value) => Number(value.toPrecision(6)));
};
const widened = (values, share) => {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const more = Math.max((high / low) ** share, 1.04);
  return [low / more, high * more];
};
const drawChart = (results) => {
  const box = byId("chart");
  const there = results.filter((result) => stat(result) && stat(result).bpb > 0);
  const dots = there.filter((result) => result[state.x] > 0);
  const rest = there.filter((result) => !(result[state.x] > 0));
  // What is far worse than all the rest would press the rest together.
  const worst = FAR * Math.max(...dots.map((result) => stat(result).bpb));
  const near = rest.filter((result) => stat(result).bpb <= worst);
  const lines = near.length <= MOST_LINES ? near : [];
  const off = rest.filter((result) => !lines.includes(result));
  const [title, text] = AXES[state.x];
  const named = off.map((result) => `${result.name} (${bits(stat(result).bpb)})`);
  const note = [lines.length ? "Dashed: results that state no such number." : "",
    named.length ? `Not drawn: ${named.join(", ")}.` : ""].filter(Boolean).join(" ");
  byId("chart-note").textContent = dots.length ? note
    : `No result shown here states this number (${title.toLowerCase()}): nothing to draw.`;
  box.hidden = dots.length === 0;
  if (!dots.length) return box.replaceChildren();
  const width = Math.max(280, box.clientWidth);
  const height = Math.round(Math.min(460, Math.max(280, width * 0.5)));
  const [left, right, top, bottom] = [46, 14, 14, 46];
  const [x0, x1] = widened(dots.map((result) => result[state.x]), 0.08);
  const tall = [...dots, ...lines].flatMap((result) => [stat(result).low, stat(result).high,
    stat(result).bpb]).filter((value) => value > 0);
  const [y0, y1] = widened(tall, 0.06);
  const X = (value) => left + ((width - left - right) * Math.log(value / x0)) / Math.log(x1 / x0);
  const Y = (value) => height - bottom
    - ((height - top - bottom) * Math.log(value / y0)) / Math.log(y1 / y0);
  const parts = [];
  let last = -Infinity;
  for (const tick of ticks(x0, x1)) {
    if (X(tick) - last < 44 || X(tick) > width - right - 8) continue;
    last = X(tick);
    parts.push(svg("line", { x1: last, x2: last, y1: top, y2: height - bottom, class: "grid" }),
      svg("text", { x: last, y: height - bottom + 18, "text-anchor": "middle" }, text(tick)));
  }
  last = Infinity;
  for (const tick of ticks(y0, y1)) {
    if (last - Y(tick) < 20) continue;
    last = Y(tick);
    parts.push(svg("line", { x1: left, x2: width - right, y1: last, y2: last, class: "grid" }),
      svg("text", { x: left - 8, y: last + 4, "text-anchor": "end" }, String(tick)));
  }
  parts.push(svg("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle",
    class: "axis-name" }, title + " (logarithmic)"));
  const taken = dots.map((result) => [X(result[state.x]) - 6, Y(stat(result).bpb) - 6, 12, 12]);
  const clear = ([x, y, w, h]) => x >= left && x + w <= width && y >= 0 && y + h <= height - bottom
    && taken.every(([a, b, c, d]) => x + w <= a || a + c <= x || y + h <= b || b + d <= y);
  const short = (words) => (words.length > 28 ? words.slice(0, 27) + "…" : words);
  const label = (words, x, y) => {
    const w = 6.9 * words.length + 4;
    const spots = [[x + 9, y + 4, "start", [x + 7, y - 8, w, 16]],
      [x - 9, y + 4, "end", [x - 7 - w, y - 8, w, 16]],
      [x, y - 10, "middle", [x - w / 2, y - 22, w, 15]],
      [x, y + 19, "middle", [x - w / 2, y + 7, w, 15]]];
    const spot = spots.find(([, , , area]) => clear(area));
    if (spot) taken.push(spot[3]);
    const flip = x + w > width - 4;
    const [tx, ty, anchor] = spot || [flip ? x - 9 : x + 9, y - 8, flip ? "end" : "start"];
    return svg("text", { x: tx, y: ty, "text-anchor": anchor,
      class: spot ? "label" : "label crowded" }, words);
  };
  const told = (result) => `${result.name}: ${bits(stat(result).bpb)} bits per byte, 95% interval `
    + `${span(stat(result))}`;
  const active = (result, words, inside, kind) => svg("g", { class: kind, tabindex: 0,
    role: "button", "aria-label": words, "aria-haspopup": "dialog", "data-key": "dot-" + result.id,
    onclick: () => openCard(result.id),
    onkeydown: (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      openCard(result.id);
    } }, svg("title", {}, words), inside);
  for (const result of lines) taken.push([left, Y(stat(result).bpb) - 1, width - left - right, 2]);
  for (const result of lines) {
    const y = Y(stat(result).bpb);
    const words = `${short(result.name)} ${bits(stat(result).bpb)}`;
    const w = 6.9 * words.length + 4;
    const spot = [left + 4, width - right - w - 8, (left + width - w) / 2].flatMap((x) =>
      [[x, y - 19, w, 15], [x, y + 4, w, 15]]).find(clear);
    if (spot) taken.push(spot);
    parts.push(active(result, told(result), [
      svg("line", { x1: left, x2: width - right, y1: y, y2: y, class: "reference" }),
      svg("text", { x: spot ? spot[0] + 2 : left + 6, y: spot ? spot[1] + 12 : y - 6,
        class: spot ? "label" : "label crowded" }, words)], "line-of"));
  }
  for (const result of dots) {
    const one = stat(result);
    const [x, y] = [X(result[state.x]), Y(one.bpb)];
    const bar = one.low > 0 ? svg("line", { x1: x, x2: x, y1: Y(one.low), y2: Y(one.high),
      class: "whisker" }) : "";
    parts.push(active(result, `${told(result)}, ${title.toLowerCase()} ${text(result[state.x])}`,
      [svg("circle", { cx: x, cy: y, r: 14, class: "reach" }), bar, mark(result.kind, x, y, 5),
        label(short(result.name), x, y)], "dot"));
  }
  const where = state.domain === "" ? "all of the text" : state.domain;
  const words = `Scatter chart of ${dots.length} results: bits per byte on ${where} against `
    + `${title.toLowerCase()}, both logarithmic. The table above holds the same numbers.`;
  box.replaceChildren(svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height,
    role: "group", "aria-label": words }, parts));
};
