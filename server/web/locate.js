// locate.js - where in the text of a request a problem stands.

// A reader of JSON that only knows where values begin and end.
function scanner(text) {
  let i = 0;
  const blank = () => { while (i < text.length && " \t\r\n".includes(text[i])) i++; };
  const string = () => {
    const from = i++;
    while (i < text.length && text[i] !== '"') i += text[i] === "\\" ? 2 : 1;
    return text.slice(from, ++i);
  };
  const value = () => {
    blank();
    const from = i;
    let depth = 0;
    do {
      if (text[i] === '"') string();
      else {
        if ("[{".includes(text[i])) depth++;
        if ("]}".includes(text[i])) depth--;
        i++;
      }
    } while (i < text.length && (depth > 0 || !(",]} \t\r\n".includes(text[i]) || "\"]}".includes(text[i - 1]))));
    return [from, i];
  };
  const take = (mark) => {
    blank();
    return text[i] === mark ? (i++, true) : false;
  };
  return { at: () => (blank(), i), string, value, take };
}

// Steps behind the names of an object up to this one; false when it is not there. Answers where the name begins.
function member(s, wanted) {
  do {
    const from = s.at();
    const name = s.string();
    if (!s.take(":")) return null;
    if (name === JSON.stringify(wanted)) return from;
    s.value();
  } while (s.take(","));
  return null;
}

function element(s, index) {
  for (let n = 0; n < index; n++) {
    s.value();
    if (!s.take(",")) return null;
  }
  return s.at();
}

function byPointer(text, pointer) {
  const s = scanner(text);
  let from = s.at();
  for (const part of pointer.split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (s.take("{")) from = member(s, name);
    else if (s.take("[")) from = element(s, Number(name));
    else return null;
    if (from === null) return null;
  }
  return [from, s.value()[1]];
}

function byLine(text, line, column) {
  const before = text.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  const left = Array.from(text.slice(before).split("\n")[0]).slice(0, column - 1).join("");
  const from = Math.min(before + left.length, text.length);
  return [from, Math.min(from + 1, text.length)];
}

// [begin, end] in the text, or null when the problem has no place there.
export function locate(text, { pointer, line, column }) {
  if (line) return byLine(text, line, column);
  return pointer ? byPointer(text, pointer) : null;
}
