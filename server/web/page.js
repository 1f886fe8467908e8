"use strict";

const at = (id) => document.getElementById(id);
const make = (tag, text, className) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
};
const MOST_CELLS = 24; // rows and columns of a table that are shown
const MOST_TABLES = 16;

function shapeOf(value) {
  const shape = [];
  for (let v = value; Array.isArray(v); v = v[0]) shape.push(v.length);
  return shape;
}

// Every matrix inside nested lists, with the indices that lead to it.
function matrices(value, rank, path = []) {
  if (rank <= 2) return [{ path, rows: rank === 2 ? value : [value] }];
  return value.flatMap((part, i) => matrices(part, rank - 1, path.concat(i)));
}

function table(rows, coloured) {
  const t = make("table");
  const most = Math.max(...rows.flat().map((x) => (typeof x === "number" ? Math.abs(x) : 0)), 1e-300);
  rows.slice(0, MOST_CELLS).forEach((row) => {
    const tr = t.insertRow();
    row.slice(0, MOST_CELLS).forEach((x) => {
      const td = tr.insertCell();
      td.textContent = typeof x === "number" ? String(+x.toPrecision(3)) : String(x);
      td.title = String(x);
      if (coloured && typeof x === "number") td.style.background = `rgba(var(--deep), ${(0.75 * Math.abs(x)) / most})`;
    });
    if (row.length > MOST_CELLS) tr.insertCell().textContent = "…";
  });
  if (rows.length > MOST_CELLS) t.insertRow().insertCell().textContent = "…";
  return t;
}

function showTensor(into, name, value) {
  const shape = shapeOf(value);
  if (!shape.length || shape.includes(0)) return;
  into.append(make("h2", `${name} (${shape.join(", ")})`));
  const box = make("div", undefined, "pictures");
  const all = matrices(value, shape.length);
  all.slice(0, MOST_TABLES).forEach(({ path, rows }) => {
    const figure = make("figure");
    if (path.length) figure.append(make("figcaption", `${name}[${path.join(", ")}]`));
    const scroll = make("div", undefined, "scroll");
    scroll.append(table(rows, true));
    figure.append(scroll);
    box.append(figure);
  });
  if (all.length > MOST_TABLES) box.append(make("p", `and ${all.length - MOST_TABLES} more in the whole answer`));
  into.append(box);
}

function showChecks(into, checks) {
  if (!checks) return;
  into.append(make("h2", checks.ok ? "Everything requested holds" : "A requested property does not hold"));
  const list = make("ul");
  for (const [name, check] of Object.entries(checks)) {
    if (typeof check !== "object") continue;
    const figures = Object.entries(check).filter(([k]) => k !== "holds" && k !== "requested");
    const asked = check.requested === false ? " (not requested)" : "";
    const kind = check.holds ? "good" : check.requested === false ? "open" : "bad";
    const text = figures.map(([k, v]) => `${k.replaceAll("_", " ")} ${v}`).join(", ");
    list.append(make("li", `${name}${check.holds ? " holds" : " does not hold"}${asked}${text && `: ${text}`}`, kind));
  }
  into.append(list);
}

// The verdict of /check on each array that was sent.
function showVerdicts(into, answer) {
  if (!answer.arrays) return;
  into.append(make("h2", answer.passed ? "Every array is right" : "Not every array is right"));
  const list = make("ul");
  for (const [name, verdict] of Object.entries(answer.arrays)) {
    const miss = verdict.first_mismatch;
    const where = miss ? `: at [${miss.index.join(", ")}] expected ${miss.expected}, got ${miss.got}` : "";
    const shapes = [verdict.expected_shape, verdict.got_shape].map((s) => `(${s.join(", ")})`);
    const shape = shapes[0] === shapes[1] ? "" : `: shape ${shapes[0]} expected, got ${shapes[1]}`;
    list.append(make("li", name + where + shape, verdict.passed ? "good" : "bad"));
  }
  into.append(list);
}

function showProblem(into, problem) {
  into.hidden = false;
  into.append(make("strong", problem.title || "The request failed"));
  const list = make("dl");
  for (const name of ["detail", "code", "pointer", "expected", "got", "hint", "line", "column"]) {
    if (problem[name] === undefined) continue;
    list.append(make("dt", name), make("dd", String(problem[name])));
  }
  into.append(list);
}

function show(answer) {
  const first = ["output", "weights"]; // the last of them comes first
  showVerdicts(at("checks"), answer);
  showChecks(at("checks"), answer.checks);
  const names = Object.keys(answer).filter((n) => Array.isArray(answer[n]) && n !== "trace" && n !== "results");
  names.sort((a, b) => first.indexOf(b) - first.indexOf(a));
  for (const name of names) showTensor(at("pictures"), name, answer[name]);
  for (const result of answer.results || []) {
    at("pictures").append(make("h2", `sharpness ${result.sharpness}: accuracy ${result.accuracy}, mean own weight ${result.mean_own_weight}`));
    showTensor(at("pictures"), "weights", result.weights);
  }
  for (const step of answer.trace || []) {
    at("pictures").append(make("p", `${step.name} = ${step.formula}`));
    if (Array.isArray(step.values)) showTensor(at("pictures"), step.name, step.values);
  }
}

function clear() {
  at("problem").hidden = true;
  at("raw").hidden = true;
  for (const id of ["problem", "checks", "pictures"]) at(id).replaceChildren();
}

let latest = 0;
async function run(event) {
  if (event) event.preventDefault();
  const mine = ++latest; // an answer that a newer request has overtaken is dropped
  const headers = { "Content-Type": "application/json" };
  if (at("key").value) headers.Authorization = `Bearer ${at("key").value}`;
  at("status").textContent = "running";
  try {
    const start = performance.now();
    const response = await fetch(at("endpoint").value, { method: "POST", headers, body: at("body").value });
    const text = await response.text();
    if (mine !== latest) return;
    clear();
    at("status").textContent = `${response.status} in ${(performance.now() - start).toFixed(1)} ms, ${text.length} bytes`;
    at("text").textContent = text.slice(0, 200000);
    at("raw").hidden = false;
    const answer = JSON.parse(text);
    if (response.ok) show(answer);
    else showProblem(at("problem"), answer);
  } catch (error) {
    if (mine !== latest) return;
    clear();
    at("status").textContent = "no answer";
    showProblem(at("problem"), { title: "The server could not be reached", detail: String(error) });
  }
}

function showCurl() {
  const body = at("body").value.replaceAll("'", "'\\''");
  at("curl").textContent = `curl -s '${location.origin}${at("endpoint").value}?pretty' -d '${body}'`;
}

async function choose() {
  const { value: name, selectedOptions } = at("example");
  const response = await fetch(`/examples/${encodeURIComponent(name)}`);
  if (!response.ok) return;
  at("body").value = await response.text();
  at("endpoint").value = selectedOptions[0].dataset.endpoint;
  showCurl();
  await run();
}

async function start() {
  at("request").addEventListener("submit", run);
  at("body").addEventListener("keydown", (e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) run(e); });
  for (const id of ["body", "endpoint"]) at(id).addEventListener("input", showCurl);
  at("example").addEventListener("change", choose);
  const list = await (await fetch("/examples")).json();
  for (const { name, endpoint } of list.examples) {
    const option = make("option", name);
    option.value = name;
    option.dataset.endpoint = endpoint;
    at("example").append(option);
  }
  if (list.examples.some((e) => e.name === "mha-causal")) at("example").value = "mha-causal";
  await choose();
}

start();
