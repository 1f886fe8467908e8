// draw.js - arrays as coloured tables, or as pictures when they are large. Blue is positive, orange negative; all matrices
// of one array share one scale, so that heads can be compared.

const MOST_CELLS = 24; // rows and columns of a table; a larger matrix becomes a picture
const MOST_FIGURES = 32;
const MOST_PIXELS = 4e6;
const PICTURE_WIDTH = { one: 480, many: 300 };

export const make = (tag, text, className) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
};

export function shapeOf(value) {
  const shape = [];
  for (let v = value; Array.isArray(v); v = v[0]) shape.push(v.length);
  return shape;
}

// Every matrix inside nested lists, with the indices that lead to it.
function matrices(value, rank, path = []) {
  if (rank <= 2) return [{ path, rows: rank === 2 ? value : [value] }];
  return value.flatMap((part, i) => matrices(part, rank - 1, path.concat(i)));
}

// ---- colours

const channels = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).split(",").map(Number);
const palette = () => ({ paper: channels("--paper"), plus: channels("--blue"), minus: channels("--orange") });

// share from -1 to 1
function mix(colours, share) {
  const end = share < 0 ? colours.minus : colours.plus;
  return colours.paper.map((from, i) => Math.round(from + (end[i] - from) * Math.min(1, Math.abs(share))));
}

// Black or white, whichever can be read on it (WCAG's relative luminance).
function inkOn(rgb) {
  const [r, g, b] = rgb.map((c) => (c <= 10 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
}

// ---- numbers

// The largest magnitude, and whether all are integers.
function measure(value, found = { most: 0, whole: true }) {
  if (Array.isArray(value)) value.forEach((v) => measure(v, found));
  else if (typeof value === "number") {
    found.most = Math.max(found.most, Math.abs(value));
    found.whole = found.whole && Number.isInteger(value);
  }
  return found;
}

// As many decimals for all numbers of an array as its largest needs for three digits; what is exactly 0 is "0".
function formatter({ most, whole }) {
  const decimals = 2 - Math.floor(Math.log10(most || 1));
  return (x) => {
    if (x === "-Infinity") return "−∞";
    if (x === "Infinity") return "∞";
    if (typeof x !== "number" || whole || x === 0) return String(x);
    return decimals >= 0 && decimals <= 6 ? x.toFixed(Math.min(decimals, 6)) : x.toPrecision(3);
  };
}

const shareOf = (x, most) => (typeof x === "number" ? x / (most || 1) : x === true ? 1 : 0);

// ---- one matrix

// What stands at a place: "weights[0][2, 1] = 0.25: film looks at iyi".
function describe(figure, row, column) {
  const { name, path, rows, flat, labels } = figure;
  const index = (flat ? [column] : [...path, row, column]).join(", ");
  const words = labels?.rows && labels.columns ? `: ${labels.rows[row]} looks at ${labels.columns[column]}` : "";
  return `${name}[${index}] = ${rows[row][column]}${words}`;
}

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

// Where an arrow key leads to; null for other keys and at the border.
function step(event, row, column, rows) {
  const by = STEPS[event.key];
  if (!by || event.ctrlKey || event.metaKey || event.altKey) return null;
  const to = [row + by[0], column + by[1]];
  if (rows[to[0]]?.[to[1]] === undefined) return null;
  event.preventDefault();
  return to;
}

function headings(table, figure, columns) {
  const tr = table.createTHead().insertRow();
  tr.append(make("th"));
  for (let j = 0; j < columns; j++) {
    const th = make("th", figure.labels?.columns?.[j] ?? String(j));
    th.scope = "col";
    tr.append(th);
  }
}

function table(figure, format, most, tell) {
  const { rows, marked } = figure;
  const colours = palette();
  const t = make("table");
  headings(t, figure, rows[0].length);
  const body = t.createTBody();
  rows.forEach((row, i) => {
    const tr = body.insertRow();
    const th = make("th", figure.labels?.rows?.[i] ?? (figure.flat ? "" : String(i)));
    th.scope = "row";
    tr.append(th);
    row.forEach((x, j) => {
      const td = tr.insertCell();
      const rgb = mix(colours, shareOf(x, most));
      td.textContent = format(x);
      td.tabIndex = i + j === 0 ? 0 : -1;
      td.style.background = `rgb(${rgb})`;
      td.style.color = inkOn(rgb);
      if (typeof x === "string") td.className = "odd";
      if (marked && marked[0] === i && marked[1] === j) td.className = "marked";
    });
  });
  const placeOf = (td) => [td.parentNode.sectionRowIndex, td.cellIndex - 1];
  for (const kind of ["mouseover", "focusin", "click"])
    body.addEventListener(kind, ({ target }) => target.tagName === "TD" && tell(...placeOf(target)));
  body.addEventListener("keydown", (event) => {
    const to = step(event, ...placeOf(event.target), rows);
    if (!to) return;
    const next = body.rows[to[0]].cells[to[1] + 1];
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
  return t;
}

function picture(figure, most, tell) {
  const { rows, name, path } = figure;
  const wanted = path.length ? PICTURE_WIDTH.many : PICTURE_WIDTH.one;
  const [height, width] = [rows.length, rows[0].length];
  const canvas = make("canvas");
  Object.assign(canvas, { width, height, tabIndex: 0 });
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${[name, ...path].join(" ")}, ${height} rows of ${width}; the arrow keys read its values`);
  canvas.style.width = `${width * Math.max(1, Math.floor(wanted / width))}px`;
  const colours = palette();
  const pixels = new ImageData(width, height);
  rows.forEach((row, i) => row.forEach((x, j) => pixels.data.set([...mix(colours, shareOf(x, most)), 255], 4 * (i * width + j))));
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  let at = [0, 0];
  const move = (to) => tell(...(at = to));
  for (const kind of ["pointermove", "pointerdown"])
    canvas.addEventListener(kind, ({ offsetX, offsetY }) => {
      const share = canvas.clientWidth / width;
      move([Math.min(height - 1, Math.max(0, Math.floor(offsetY / share))), Math.min(width - 1, Math.max(0, Math.floor(offsetX / share)))]);
    });
  canvas.addEventListener("focus", () => move(at));
  canvas.addEventListener("keydown", (event) => {
    const to = step(event, ...at, rows);
    if (to) move(to);
  });
  return canvas;
}

function draw(figure, format, most) {
  const { rows, name, path } = figure;
  const box = make("figure");
  const title = path.length ? `${name}[${path.join(", ")}]` : "";
  const caption = make("figcaption", title);
  const scroll = make("div", undefined, "scroll");
  const large = rows.length > MOST_CELLS || rows[0].length > MOST_CELLS;
  const tell = (row, column) => (caption.textContent = describe(figure, row, column));
  if (!large) {
    scroll.append(table(figure, format, most, tell));
    scroll.firstChild.setAttribute("aria-label", title || name);
  } else if (rows.length * rows[0].length <= MOST_PIXELS) scroll.append(picture(figure, most, tell));
  else scroll.append(make("p", "Too large to be drawn."));
  box.addEventListener("mouseleave", () => (caption.textContent = title));
  box.append(caption, scroll);
  return box;
}

// options: note: a sentence below the heading; most: the number that has the full colour; labels(path): words for queries and keys, or {} for their numbers;
// marked: the index of an element.
export function showTensor(into, name, value, { note, most, labels, marked } = {}) {
  const shape = shapeOf(value);
  if (!shape.length || shape.includes(0)) return;
  into.append(make("h2", `${name} (${shape.join(", ")})`));
  if (note) into.append(make("p", note, "note"));
  const found = measure(value);
  const format = formatter(found);
  const box = make("div", undefined, "figures");
  const all = matrices(value, shape.length);
  for (const { path, rows } of all.slice(0, MOST_FIGURES)) {
    const here = marked && path.every((p, i) => p === marked[i]) ? marked.slice(path.length) : undefined;
    const flat = shape.length === 1;
    box.append(draw({ name, path, rows, flat, labels: labels?.(path), marked: flat && here ? [0, ...here] : here }, format, most ?? found.most));
  }
  if (all.length > MOST_FIGURES) box.append(make("p", `and ${all.length - MOST_FIGURES} more in the whole answer`));
  into.append(box);
}
