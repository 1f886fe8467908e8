// page.js - the request on the left, what came back on the right.
import { make, shapeOf, showTensor } from "/draw.js";
import { locate } from "/locate.js";

const at = (id) => document.getElementById(id);
const MOST_TEXT = 200000; // characters of the whole answer that are shown
const MOST_CURL = 20000;
const ROWS_OF_WEIGHTS = "Row i shows how much query i takes from each key. Point at a number, or walk with the arrow keys, to read all of it.";
const FEW_KEYS = 24; // of which a weight of 1 has the full colour; among more all would be pale
const OVER_KEYS = ["weights", "scores", "capped_scores", "masked_scores"];

const short = (x) => (typeof x === "number" ? String(+x.toPrecision(3)) : String(x));

// ---- the answer

const MEANINGS = {
  normalization: ["every row of weights sums to 1", "a row of weights does not sum to 1"],
  causality: ["no position sees a later one", "a position sees a later one"],
  padding: ["padding gets no weight", "padding gets weight"],
  finite: ["every number is finite", "a number is NaN or infinite"],
};

function checkItem(name, check) {
  const figures = Object.entries(check).filter(([k, v]) => k !== "holds" && k !== "requested" && v !== null);
  const asked = check.requested === false ? " (not requested)" : "";
  const kind = check.holds ? "good" : check.requested === false ? "open" : "bad";
  const text = figures.map(([k, v]) => `${k.replaceAll("_", " ")} ${short(v)}`).join(", ");
  return make("li", `${name} ${check.holds ? "holds" : "does not hold"}${asked}: ${MEANINGS[name]?.[check.holds ? 0 : 1] ?? ""}${text && ` (${text})`}`, kind);
}

// Returns the verdict in a sentence.
function showChecks(into, checks) {
  if (!checks) return "";
  const verdict = checks.ok ? "Everything requested holds" : "A requested property does not hold";
  const list = make("ul");
  for (const [name, check] of Object.entries(checks)) if (typeof check === "object") list.append(checkItem(name, check));
  into.append(make("h2", verdict), list);
  return verdict;
}

// The verdict of /check on each array that was sent.
function showVerdicts(into, answer) {
  if (!answer.arrays) return "";
  const verdict = answer.passed ? "Every array is right" : "Not every array is right";
  const list = make("ul");
  for (const [name, { passed, first_mismatch: miss, expected_shape, got_shape }] of Object.entries(answer.arrays)) {
    const where = miss ? `: at [${miss.index.join(", ")}] expected ${miss.expected}, got ${miss.got}` : "";
    const [expected, got] = [expected_shape, got_shape].map((s) => `(${s.join(", ")})`);
    const shape = expected === got ? "" : `: shape ${expected} expected, got ${got}`;
    list.append(make("li", name + where + shape, passed ? "good" : "bad"));
  }
  into.append(make("h2", verdict), list);
  return verdict;
}

// The words of each text, padded as the server does it; null without texts.
function wordsOf(request) {
  const tokens = request?.tokens ?? request;
  if (!Array.isArray(tokens?.texts)) return null;
  const rows = tokens.texts.map((text) => String(text).trim().split(/\s+/));
  const length = tokens.max_length ?? Math.max(...rows.map((r) => r.length));
  return rows.map((r) => Array.from({ length }, (_, i) => r[i] ?? tokens.pad_token ?? "<pad>"));
}

// Words beside the rows and columns of weights, where the queries and keys are the words of a text.
function labelsFor(request, shape) {
  const words = wordsOf(request);
  return ([batch]) => {
    const row = words?.[words.length > 1 || shape.length > 2 ? batch : 0];
    const fits = (n) => (row?.length === n ? row : undefined);
    return { rows: fits(shape.at(-2)), columns: request?.context ? undefined : fits(shape.at(-1)) };
  };
}

function showArray(into, name, value, request, more) {
  const overKeys = OVER_KEYS.includes(name);
  showTensor(into, name, value, {
    note: name === "weights" ? ROWS_OF_WEIGHTS : undefined,
    most: name === "weights" && shapeOf(value).at(-1) <= FEW_KEYS ? 1 : undefined,
    labels: overKeys ? labelsFor(request, shapeOf(value)) : undefined,
    ...more,
  });
}

function showVocabulary(into, vocab) {
  if (!vocab) return;
  into.append(make("h2", `vocab (${Object.keys(vocab).length} words)`));
  into.append(make("p", Object.entries(vocab).map(([word, id]) => `${id} ${word}`).join(" · ")));
}

function showLookup(into, result) {
  const scores = result.accuracy === null ? "" : `: accuracy ${short(result.accuracy)}, mean own weight ${short(result.mean_own_weight)}`;
  into.append(make("h2", `sharpness ${short(result.sharpness)}${scores}`));
  for (const name of ["weights", "output", "nearest"]) if (result[name]) showArray(into, name, result[name]);
}

function showTrace(into, steps) {
  for (const { name, formula, values } of steps ?? [])
    if (Array.isArray(values)) showTensor(into, name, values, { note: `${name} = ${formula}` });
}

// What was sent to /check, with the first wrong element marked.
function showSent(into, answer, request) {
  for (const [name, { first_mismatch: miss }] of Object.entries(answer.arrays ?? {})) {
    const sent = request?.answer?.[name];
    if (Array.isArray(sent)) showArray(into, name, sent, request.request, { marked: miss?.index, note: "As it was sent." });
  }
}

function show(answer, request) {
  const [checks, pictures] = [at("checks"), at("pictures")];
  checks.replaceChildren();
  pictures.replaceChildren();
  const verdict = showVerdicts(checks, answer) || showChecks(checks, answer.checks);
  if (answer.arrays) showChecks(checks, answer.checks);
  showSent(pictures, answer, request);
  const names = Object.keys(answer).filter((n) => Array.isArray(answer[n]) && n !== "trace" && n !== "results");
  names.sort((a, b) => (b === "weights") - (a === "weights"));
  if ("sharpness" in answer) showLookup(pictures, answer);
  else for (const name of names) showArray(pictures, name, answer[name], request);
  for (const result of answer.results ?? []) showLookup(pictures, result);
  showVocabulary(pictures, answer.vocab);
  showTrace(pictures, answer.trace);
  return verdict;
}

// ---- a refusal

// The piece of the request at fault, with some text around it.
function showPlace(into, [begin, end]) {
  const text = at("body").value;
  const from = Math.max(text.lastIndexOf("\n", begin - 1) + 1, begin - 60);
  const to = Math.min(end, begin + 200);
  const rest = text.slice(to, to + 60).split("\n")[0];
  const line = text.slice(0, begin).split("\n").length;
  const pre = make("pre", text.slice(from, begin));
  pre.append(make("mark", text.slice(begin, to) || "␠"), rest);
  const go = make("button", "Go to it");
  go.type = "button";
  go.addEventListener("click", () => {
    at("body").blur(); // a text area scrolls to its selection when it gets the focus
    at("body").setSelectionRange(begin, end);
    at("body").focus();
  });
  const row = make("p", `Line ${line} `);
  row.append(go);
  into.append(row, pre);
}

function showProblem(problem) {
  const into = at("problem");
  into.append(make("strong", problem.title || "The request failed"), make("p", problem.detail));
  if (problem.hint && !problem.detail?.includes(problem.hint)) into.append(make("p", problem.hint));
  if (problem.expected && !problem.hint && !problem.detail?.includes(problem.expected)) into.append(make("p", `Expected: ${problem.expected}.`));
  const place = locate(at("body").value, problem);
  if (place) showPlace(into, place);
  if (problem.code) {
    const more = make("p", undefined, "note");
    const link = make("a", problem.code);
    link.href = problem.type;
    more.append(link, problem.pointer ? ` at ${problem.pointer}` : "");
    into.append(more);
  }
  if (problem.code === "unauthorized") {
    at("keyed").hidden = false;
    at("key").focus();
  }
}

// ---- asking

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

let running = null; // aborts the request that is on its way
let latest = null; // what show() was given, for a change of colours

function begin() {
  running?.abort();
  const mine = (running = new AbortController());
  const start = performance.now();
  const seconds = () => ((performance.now() - start) / 1000).toFixed(0);
  at("status").textContent = "running";
  at("answer").ariaBusy = "true";
  const timer = setInterval(() => {
    at("stop").hidden = false;
    at("status").textContent = `running for ${seconds()} s`;
  }, 1000);
  mine.signal.addEventListener("abort", () => clearInterval(timer));
  return mine;
}

function clear() {
  latest = null;
  at("raw").hidden = true;
  for (const id of ["problem", "checks", "pictures"]) at(id).replaceChildren();
}

function end(mine) {
  if (running !== mine) return;
  mine.abort();
  running = null;
  at("stop").hidden = true;
  at("answer").ariaBusy = "false";
}

function showAnswer(response, text, request, ms) {
  const answer = parse(text);
  const size = `${text.length.toLocaleString("en")} characters`;
  clear();
  at("text").textContent = text.slice(0, MOST_TEXT);
  if (text.length > MOST_TEXT) at("text").textContent += `\n… ${MOST_TEXT.toLocaleString("en")} of ${size}; curl shows all of them.`;
  at("raw").hidden = false;
  let verdict = "";
  if (answer === undefined) showProblem({ title: "The answer is not JSON", detail: `Something between here and the server answered with status ${response.status}.` });
  else if (!response.ok) showProblem(answer);
  else {
    verdict = show(answer, request);
    latest = [answer, request];
  }
  const problem = response.ok ? "" : `${answer?.title ?? "Refused"}. `;
  at("status").textContent = `${problem}${verdict && `${verdict}. `}${response.status} in ${ms} ms, ${size}`;
}

async function run(event) {
  event?.preventDefault();
  const mine = begin();
  const body = at("body").value;
  const headers = { "Content-Type": "application/json" };
  if (at("key").value) headers.Authorization = `Bearer ${at("key").value}`;
  try {
    const start = performance.now();
    const response = await fetch(at("endpoint").value, { method: "POST", headers, body, signal: mine.signal });
    const text = await response.text();
    if (running !== mine) return; // overtaken by a newer request
    showAnswer(response, text, parse(body), (performance.now() - start).toFixed(0));
  } catch (error) {
    if (running !== mine) return;
    clear();
    at("status").textContent = "no answer";
    if (error.name !== "AbortError")
      showProblem({ title: "No answer from the server", detail: "Is it running, and is there a connection? Run asks again." });
  } finally {
    end(mine);
  }
}

function stop() {
  running?.abort();
}

// ---- the form

function showCurl() {
  if (!at("same").open) return;
  const body = at("body").value;
  const key = at("key").value ? " -H \"Authorization: Bearer $KEY\"" : "";
  const data = body.length > MOST_CURL ? "@request.json" : `'${body.replaceAll("'", "'\\''")}'`;
  at("curl").textContent = `curl '${location.origin}${at("endpoint").value}?pretty'${key} --data ${data}`;
}

async function choose() {
  const { value: name, selectedOptions } = at("example");
  const response = await fetch(`/examples/${encodeURIComponent(name)}`).catch(() => null);
  if (!response?.ok) return noExamples();
  at("body").value = await response.text();
  at("endpoint").value = selectedOptions[0].dataset.endpoint;
  at("summary").textContent = selectedOptions[0].dataset.summary;
  history.replaceState(null, "", `#${name}`); // a link to this example
  showCurl();
  await run();
}

function noExamples() {
  clear();
  showProblem({ title: "The examples could not be fetched", detail: "Is the server running, and is there a connection? Load the page again." });
}

function chosen(examples) {
  const wanted = [decodeURIComponent(location.hash.slice(1)), "mha-causal", examples[0]?.name];
  return wanted.find((name) => examples.some((e) => e.name === name));
}

async function start() {
  at("request").addEventListener("submit", run);
  at("stop").addEventListener("click", stop);
  at("body").addEventListener("keydown", (e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) run(e); });
  for (const id of ["body", "endpoint", "key"]) at(id).addEventListener("input", showCurl);
  at("same").addEventListener("toggle", showCurl);
  at("example").addEventListener("change", choose);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => latest && show(...latest));
  const response = await fetch("/examples").catch(() => null);
  if (!response?.ok) return noExamples();
  const { examples } = await response.json();
  for (const endpoint of new Set(examples.map((e) => e.endpoint))) at("endpoint").append(make("option", endpoint));
  for (const { name, endpoint, summary } of examples) {
    const option = make("option", name);
    Object.assign(option.dataset, { endpoint, summary });
    option.value = name;
    at("example").append(option);
  }
  at("example").value = chosen(examples);
  await choose();
}

start();
