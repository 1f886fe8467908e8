// page_test.js - a person at the page. Runs inside it: every step uses what can be seen there and reports what is amiss.
"use strict";
var pageTest = (() => {
  const at = (id) => document.getElementById(id);
  const text = (id) => at(id).textContent;
  const all = (selector) => [...document.querySelectorAll(selector)];
  const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
  let amiss = [];
  const expect = (holds, what) => holds || amiss.push(what);

  async function until(condition, what) {
    for (let i = 0; i < 400; i++) {
      if (condition()) return;
      await sleep(25);
    }
    amiss.push(`waited in vain for ${what}`);
  }

  const settled = () => until(() => / in \d+ ms/.test(text("status")) || text("status") === "no answer", "an answer");

  async function example(name) {
    at("example").value = name;
    at("status").textContent = "";
    at("example").dispatchEvent(new Event("change"));
    await until(() => location.hash === `#${name}`, `example ${name}`);
    await settled();
  }

  async function ask(endpoint, body) {
    at("endpoint").value = endpoint;
    at("body").value = typeof body === "string" ? body : JSON.stringify(body);
    at("body").dispatchEvent(new Event("input"));
    at("status").textContent = "";
    at("request").requestSubmit();
    await settled();
  }

  const key = (target, name, more = {}) => target.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true, ...more }));
  const cell = (row, column, table = 0) => all("table")[table].tBodies[0].rows[row].cells[column + 1];

  // ---- contrast, by WCAG's formula

  const rgb = (colour) => colour.match(/[\d.]+/g).map(Number);
  const luminance = (colour) => {
    const [r, g, b] = rgb(colour).slice(0, 3).map((c) => (c <= 10 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  function behind(element) {
    for (let e = element; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (rgb(colour)[3] !== 0) return colour;
    }
    return "rgb(255, 255, 255)";
  }
  function contrast(element) {
    const [a, b] = [getComputedStyle(element).color, behind(element)].map(luminance);
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }

  const steps = {
    async first() {
      await settled();
      expect(at("example").options.length >= 13, "examples are offered");
      const { paths } = await (await fetch("/openapi.json")).json();
      const endpoints = Object.keys(paths).filter((path) => paths[path].post);
      expect([...at("endpoint").options].map((o) => o.value).sort().join() === endpoints.sort().join(), "every endpoint is offered");
      expect(at("example").value === "mha-causal" && at("endpoint").value === "/mha", "the first example is mha-causal");
      expect(text("summary").length > 20, "the example says what it shows");
      expect(text("checks").includes("Everything requested holds"), "the verdict is shown");
      expect(text("checks").includes("causality holds: no position sees a later one"), "checks are in words");
      expect(text("pictures").includes("weights (3, 6, 6)"), "weights have a heading");
      expect(all("td").length === 6 * 12 + 3 * 6 * 6, `${all("td").length} cells are drawn`);
      const weights = (await (await fetch("/mha", { method: "POST", body: at("body").value, headers: { "Content-Type": "application/json" } })).json()).weights;
      expect(cell(1, 0).textContent === weights[0][1][0].toFixed(2), "the first weight is what curl gets");
      expect(cell(0, 1).textContent === "0", "no weight at all is 0, not 0.00");
    },

    // Labels for those who do not see the page, and a way for those without a mouse.
    async access() {
      for (const field of all("select, textarea, input"))
        expect([...field.labels].some((l) => l.textContent.trim()), `${field.id} has a label`);
      for (const table of all("table")) expect(table.getAttribute("aria-label"), "a table has a name");
      expect(all("table").every((t) => t.querySelectorAll("td[tabindex='0']").length === 1), "each table is one stop of the Tab key");
      expect(document.documentElement.lang === "en" && all("main").length === 1 && all("h1").length === 1, "landmarks");
      expect(at("status").tagName === "OUTPUT", "the verdict is announced");
      expect(!all("[aria-live]").length, "a hundred cells are not");
      const caption = all("figcaption")[0];
      cell(0, 0).focus();
      expect(caption.textContent.startsWith("weights[0, 0, 0] = 1"), `focus reads the value: ${caption.textContent}`);
      key(document.activeElement, "ArrowDown");
      key(document.activeElement, "ArrowRight");
      expect(document.activeElement === cell(1, 1), "arrow keys walk");
      expect(/^weights\[0, 1, 1\] = 0\.\d{10,}$/.test(caption.textContent), `they read all digits: ${caption.textContent}`);
      cell(5, 5).focus();
      key(document.activeElement, "ArrowDown");
      expect(document.activeElement === cell(5, 5), "and stop at the border");
      cell(2, 0).dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
      expect(caption.textContent.startsWith("weights[0, 2, 0] = "), "pointing reads the value");
      at("status").textContent = "";
      key(at("body"), "Enter", { ctrlKey: true });
      await settled();
      expect(text("checks").includes("Everything requested holds"), "Ctrl+Enter runs");
    },

    async colours() {
      for (const name of ["mha-causal", "attention-window-alibi", "embed-positions"]) {
        await example(name);
        const least = Math.min(...all("td, th, h1, h2, p, li, a, button, label, summary, figcaption, select, textarea, output")
          .filter((e) => e.offsetParent && e.textContent.trim()).map(contrast));
        expect(least >= 4.5, `${name}: contrast ${least.toFixed(2)}`);
      }
      await example("mha-causal");
      const backgrounds = all("td").map((td) => [td.textContent, rgb(td.style.backgroundColor)]);
      const negative = backgrounds.find(([t]) => t === "-0.79")[1], positive = backgrounds.find(([t]) => t === "0.85")[1];
      expect(negative[0] > negative[2] && positive[2] > positive[0], "negative is orange, positive blue");
    },

    // Every example at this width: nothing wider than the window, nothing empty.
    async examples() {
      for (const { value } of [...at("example").options]) {
        await example(value);
        expect(text("status").includes("200 in"), `${value}: ${text("status")}`);
        expect(all("td").length > 0, `${value} draws something`);
        expect(document.documentElement.scrollWidth <= innerWidth, `${value} is ${document.documentElement.scrollWidth} wide in ${innerWidth}`);
        expect(!/undefined|\[object|\bnull\b/.test(text("checks") + text("pictures")), `${value} shows a hole`);
      }
      await example("attention-padding");
      expect([...all("table")[0].tHead.rows[0].cells].map((c) => c.textContent).join(" ") === " film çok iyi <pad> <pad>", "keys are words");
      cell(0, 1).focus();
      expect(all("figcaption")[0].textContent.endsWith(": film looks at çok"), "so are the places");
      await example("lookup-sharpness");
      expect(cell(0, 0).style.backgroundColor !== cell(0, 0, 6).style.backgroundColor, "sharper weights are darker");
      await example("embed-reviews");
      expect(text("pictures").includes("2 çok"), "the vocabulary is shown");
      await example("check-not-causal");
      expect(text("status").startsWith("Not every array is right"), "a wrong answer is said to be wrong");
      expect(cell(0, 0).className === "marked", "and where");
    },

    async problems() {
      await ask("/attention", '{\n  "q": [[1, 2]],\n  "k": [[1, 2], [3]],\n  "v": [[1], [2]]\n}');
      expect(text("problem").includes("This row of `k` has 1 element"), "the detail is shown");
      expect(document.querySelector("#problem mark")?.textContent === "[3]", "and the row at fault");
      expect(text("problem").includes("Line 3"), "with its line");
      document.querySelector("#problem button").click();
      const { selectionStart, selectionEnd, value } = at("body");
      expect(document.activeElement === at("body") && value.slice(selectionStart, selectionEnd) === "[3]", "which can be gone to");
      expect(at("body").compareDocumentPosition(at("problem")) === Node.DOCUMENT_POSITION_FOLLOWING && at("request").contains(at("problem")),
        "the problem stands by the request");
      expect(!text("checks") && !text("pictures"), "nothing old is left");
      await ask("/mha", '{\n  "texts": "çok kötü",\n  "causal": True\n}');
      expect(document.querySelector("#problem mark")?.textContent === "T", "a place in a text that is not JSON");
      expect(text("problem").includes("small letters"), "with the hint");
      await ask("/attention", '{"a \\" b": {"q": [1, "]"]}, "attn_mask" : [[1]], "q": 1}');
      await ask("/attention", '{"x": {"eye": 2}, "softcap": "çok", "round": 3}');
      expect(document.querySelector("#problem mark")?.textContent === '"softcap": "çok"', "a member with its name");
      await ask("/attention", '{"x": [[1, 2], [3, "]}"]], "round": 3}');
      expect(document.querySelector("#problem mark")?.textContent === '"]}"', "brackets in a string are no brackets");
      await ask("/attention", "{}");
      expect(text("problem").includes("send q, k and v"), "what is missing has no place");
      await ask("/attention", "");
      expect(text("problem").includes("empty"), "an empty request");
    },

    async large() {
      const n = 512;
      await ask("/attention", { x: { eye: n }, causal: true, return: ["weights", "output"], checks: false });
      const canvas = document.querySelector("canvas");
      expect(canvas?.width === n && canvas.height === n, "a large matrix is a picture");
      const { data } = canvas.getContext("2d").getImageData(0, 0, n, n);
      const pixel = (x, y) => data.slice(4 * (y * n + x), 4 * (y * n + x) + 4).join();
      expect(pixel(0, 0) !== pixel(9, 0) && pixel(9, 0) === pixel(500, 3), "with the future in the colour of the paper");
      canvas.focus();
      key(canvas, "ArrowDown");
      expect(document.querySelector("figcaption").textContent.startsWith("weights[1, 0] = 0."), "whose values can be read");
      expect(text("text").length < 300000 && text("text").includes("characters; curl shows all"), "the text is cut, and says so");
      expect(document.documentElement.scrollWidth <= innerWidth, "it fits");
      await ask("/attention", { random: { seed: 0, draws: [{ into: ["x"], shape: [5, 256] }] }, num_heads: 64, return: ["weights"] });
      expect(all("table").length === 32 && text("pictures").includes("and 32 more"), "many heads are cut off, and counted");
      const rows = Array.from({ length: 1000 }, (_, i) => Array.from({ length: 50 }, (_, j) => (i * 50 + j) / 7));
      const began = performance.now();
      await ask("/attention", { x: rows, return: ["output"], checks: false });
      expect(at("body").value.length > 8e5 && text("status").includes("200 in"), "a request of a megabyte");
      expect(performance.now() - began < 20000, "in reasonable time");
      at("same").open = true;
      await sleep(50);
      expect(text("curl").includes("--data @request.json"), "which curl takes from a file");
      at("same").open = false;
      await ask("/lookup", { keys: { eye: 2 }, values: { eye: 2 }, queries: [[1, 0]] });
      expect(text("pictures").includes("sharpness 1") && !text("pictures").includes("null"), "queries of their own have no accuracy");
      await ask("/mha", { x: { eye: 2 }, wq: { eye: 2 }, wk: { eye: 2 }, wv: { eye: 2 }, wo: { eye: 2 }, num_heads: 1, trace: true });
      expect(text("pictures").includes(" = x wq") || /q = .*wq/.test(text("pictures")), "a trace has its formulas");
    },

    async curl() {
      await example("attention-causal");
      at("body").value = '{"it\'s": 1}';
      at("same").open = true;
      await until(() => text("curl").includes("it'\\''s"), "quotes for the shell");
      expect(text("curl").startsWith(`curl '${location.origin}/attention?pretty' --data '`), "the same with curl");
    },

    // The server stands still: the page says so, and lets go.
    async slow() {
      at("request").requestSubmit();
      await until(() => !at("stop").hidden && /running for [1-9]/.test(text("status")), "a running clock");
      expect(at("answer").ariaBusy === "true", "the answer is marked as busy");
      at("stop").click();
      await until(() => text("status") === "no answer" && at("stop").hidden, "the stop");
      expect(!text("problem"), "stopping is no problem");
    },

    async gone() {
      at("request").requestSubmit();
      await until(() => text("problem").includes("No answer from the server"), "the server's absence");
      expect(text("status") === "no answer" && text("problem").includes("Is it running"), "said in words");
      at("example").dispatchEvent(new Event("change"));
      await until(() => text("problem").includes("could not be fetched"), "the examples' absence");
    },

    async linked() {
      await settled();
      expect(at("example").value === "mha-cross", "a link leads to its example");
    },

    async keyed() {
      await settled();
      expect(!at("keyed").hidden && document.activeElement === at("key"), "a server with keys asks for one");
      at("key").value = "a-key-for-the-page";
      at("request").requestSubmit();
      await until(() => text("status").includes("200 in"), "an answer with the key");
      at("same").open = true;
      await until(() => text("curl").includes("Bearer $KEY") && !text("curl").includes("a-key-for"), "a command without the key itself");
    },
  };

  return async (name) => {
    amiss = [];
    await steps[name]().catch((error) => amiss.push(String(error.stack)));
    return amiss.join("\n");
  };
})();
