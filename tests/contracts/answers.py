"""Do openapi.yaml and the program agree? Real requests, real answers, both held against the schemas.

    answers.py PROGRAM

1. Every answer has a status, type, headers and document that the path describes, with no member besides: golden
   requests, each of their fields in turn left out or given another value, every document, and every refusal.
2. What is served, the schema of the request allows.
3. What that schema allows is not refused for something that a schema can say: see SAYABLE.
4. Every problem code is seen, but for those in UNSEEN: they need luck, a fault of the program, or another version of
   libmicrohttpd, which itself answers to HTTP/0.9 and to headers beyond its memory, in HTML.

Needs jsonschema-rs; contracts.sh installs it. Nothing is drawn at random: each run sends the same requests.
"""

import contextlib
import copy
import functools
import http.client
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

import jsonschema_rs

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = json.loads((ROOT / "server/web/openapi.json").read_text())

SAYABLE = {"wrong_type", "unknown_choice", "unknown_field", "not_an_object", "numeric_mask"}
UNSEEN = {"internal", "out_of_memory", "stopped", "http_version"}

# In place of every field of a golden request.
VALUES = [None, True, False, 0, 1, -1, 1.5, 3, 1e300, 2**53 + 1, 2**70, "", "text", "NaN", "none"]
VALUES += [[], [1], [-1.5], [True], ["a"], ["NaN"], [None], [[]], [[1], [2, 3]], [[[[[1]]]]]]
VALUES += [{}, {"a": 1}, {"eye": 2}, {"eye": 0}, {"shape": [2], "data": [1, 2]}, {"shape": [1, 0], "data": []}]
VALUES += [{"shape": [2], "data": [True, False]}]

complaints = []
codes = set()
answers = 0


def complain(what, *more):
    complaints.append(" ".join([what, *(str(m)[:300] for m in more)]))


# ---- the document ---------------------------------------------------------------------------------------------------


def closed(schema):
    """The same schema, in which an object has only the members that are described."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {name: closed(member) for name, member in schema.items()}
    return {"additionalProperties": False, **schema} if "properties" in schema else schema


CLOSED = closed(DOCUMENT["components"])


def resolve(item):
    while "$ref" in item:
        item = functools.reduce(lambda at, name: at[name], item["$ref"][2:].split("/"), DOCUMENT)
    return item


@functools.cache
def validator(text, exact):
    components = CLOSED if exact else DOCUMENT["components"]
    return jsonschema_rs.Draft202012Validator({**json.loads(text), "components": components})


def fault(schema, value, exact=False):
    """The first thing that the schema has against the value, or None."""
    errors = validator(json.dumps(closed(schema) if exact else schema), exact).iter_errors(value)
    return next((f"{error.message[:200]} at /{'/'.join(map(str, error.instance_path))}" for error in errors), None)


def request_schema(path):
    return DOCUMENT["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]


def strict_json(body):
    def refuse(word):
        raise ValueError(f"{word} is not JSON")

    return json.loads(body, parse_constant=refuse)


def check_answer(where, operation, answer):
    """Holds one answer against the responses of an operation (None: a path that does not exist)."""
    global answers
    answers += 1
    status, headers, body = answer
    known = operation["responses"] if operation else {"default": {"$ref": "#/components/responses/Problem"}}
    described = known.get(str(status), known.get("default"))
    if described is None:
        return complain("status is not described:", status, where)
    described = resolve(described)
    for name, header in described.get("headers", {}).items():
        value, header = headers.get(name), resolve(header)
        if value is None and header.get("required"):
            complain(f"{name} is missing:", status, where)
        elif value is not None and fault(header["schema"], int(value) if value.isdigit() else value):
            complain(f"{name} is {value}:", status, where)
    content = described.get("content", {})
    kind = (headers.get("Content-Type") or "").split(";")[0]
    if kind not in content and (content or body):
        return complain(f"type {kind} is not described:", status, where)
    if not kind.endswith("json") or not content:
        return None
    try:
        document = strict_json(body)
    except ValueError as error:
        return complain("no JSON:", error, where)
    wrong = fault(content[kind].get("schema", {}), document, exact=True)
    if wrong:
        complain("the answer is not as described:", status, wrong, where)
    if kind == "application/problem+json":
        codes.add(document["code"])
        if document["status"] != status:
            complain("status differs from the problem's:", status, document, where)
    return document


# ---- the program ----------------------------------------------------------------------------------------------------


class Server:
    """The program on a free port, with options; ended with the block."""

    def __init__(self, program, *options):
        command = [program, "--port", "0", "--log-format", "off", *options]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        self.port = int(re.search(r"127\.0\.0\.1:(\d+)", line).group(1))
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()
        self.process.terminate()
        code = self.process.wait(timeout=40)
        if code != 0:
            complain("the program ended with code", code)

    def ask(self, method, path, body=None, headers=None):
        self.connection.request(method, path, body, headers or {})
        response = self.connection.getresponse()
        return response.status, response.headers, response.read()

    def open(self, text=""):
        peer = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        peer.sendall(text.encode())
        return contextlib.closing(peer)

    def ask_raw(self, text):
        """Sends the text as it is, for what no HTTP library would send."""
        with self.open(text) as peer:
            response = http.client.HTTPResponse(peer, method=text.split(" ")[0])
            response.begin()
            return response.status, response.headers, response.read()


# ---- computing ------------------------------------------------------------------------------------------------------


def golden():
    for folder in sorted((ROOT / "tests/golden").iterdir()):
        if (folder / "route").exists():
            yield folder.name, (folder / "route").read_text().split()[1], (folder / "request.json").read_bytes()


def as_checked(path, request):
    """Without the members of an inner request that play no part, so they may be anything."""
    if path != "/check" or not isinstance(request, dict) or not isinstance(request.get("request"), dict):
        return request
    inner = {n: m for n, m in request["request"].items() if n not in ("return", "round", "trace", "checks")}
    return {**request, "request": inner}


def depends_on_names(pointer):
    """Names of other fields, and of an endpoint's arrays, which the schema leaves open."""
    return re.fullmatch(r"(/request)?/random/draws/\d+/into/\d+|/answer/.*", pointer or "")


def compute(server, path, body, request, where):
    """Sends one request, and holds answer and request against their schemas. `request` None: not strictly JSON."""
    operation = DOCUMENT["paths"][path]["post"]
    answer = server.ask("POST", path, body, {"Content-Type": "application/json"})
    document = check_answer(where, operation, answer)
    if answer[0] >= 500:
        complain("the program fails:", answer[0], where)
    if request is None or document is None:
        return answer[0]
    wrong = fault(request_schema(path), as_checked(path, request))
    if answer[0] == 200 and wrong:
        complain("served, though the schema forbids it:", wrong, where)
    if answer[0] != 200 and not wrong and document["code"] in SAYABLE and not depends_on_names(document.get("pointer")):
        complain("refused, though the schema allows it:", document["detail"], where)
    return answer[0]


def fields_of(value, at=()):
    """Where the fields of a request are; of a list of objects, those of its first."""
    for name, member in value.items():
        yield (*at, name)
        if isinstance(member, list) and member and isinstance(member[0], dict):
            yield from fields_of(member[0], (*at, name, 0))
        elif isinstance(member, dict) and name != "vocab":
            yield from fields_of(member, (*at, name))


def variations(request, at):
    """The request without the field at this place, then with each of VALUES there."""
    *path, last = at
    for i in range(len(VALUES) + 1):
        changed = copy.deepcopy(request)
        holder = functools.reduce(lambda holder, name: holder[name], path, changed)
        if i == len(VALUES):
            del holder[last]
        else:
            holder[last] = VALUES[i]
        yield changed


def check_golden(server):
    varied = set()
    for name, path, body in golden():
        try:
            request = strict_json(body)
        except ValueError:
            request = None
        if compute(server, path, body, request, name) != 200:
            complain("a golden request is refused:", name)
        for at in fields_of(request) if isinstance(request, dict) else ():
            if (path, at) in varied:
                continue
            varied.add((path, at))
            for changed in variations(request, at):
                compute(server, path, json.dumps(changed).encode(), changed, f"{name} with another /{'/'.join(map(str, at))}")
    return len(varied)


# ---- documents ------------------------------------------------------------------------------------------------------


def check_documents(server):
    for path, item in DOCUMENT["paths"].items():
        for method in {"get", "post"} - set(item):
            check_answer(f"{method} {path}", item[next(iter(item))], server.ask(method.upper(), path.replace("{name}", "x")))
        if "get" not in item:
            continue
        names = [""]
        if "{name}" in path:
            names = [e["name"] for e in strict_json(server.ask("GET", "/examples")[2])["examples"]] + ["none-such"]
        for name in names:
            target = path.replace("{name}", name)
            answer = server.ask("GET", target)
            check_answer(target, item["get"], answer)
            if answer[1].get("ETag"):
                again = server.ask("GET", target, headers={"If-None-Match": answer[1]["ETag"]})
                check_answer(f"{target} again", item["get"], again)
                if again[0] != 304:
                    complain("no 304 for a known ETag:", target)


# ---- refusals -------------------------------------------------------------------------------------------------------

POST = "POST /mha HTTP/1.1\r\nHost: a\r\n"
LONG = json.dumps({"random": {"seed": 1, "draws": [{"into": ["x"], "shape": [1500, 256]}, {
    "into": ["wq", "wk", "wv", "wo"], "shape": [256, 256]}]}, "num_heads": 4, "return": [], "checks": False})
RAW = [
    "GET / HTTP/1.1\r\n\r\n",  # no Host
    "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "BREW / HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST /none HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}",
    "GET /" + "a" * 20000 + " HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nX: " + "a" * 20000 + "\r\n\r\n",
    POST + "\r\n",  # no length
    POST + "Content-Length: 2\r\nContent-Type: text/plain\r\n\r\n{}",
    POST + "Content-Length: 2\r\nContent-Encoding: br\r\n\r\n{}",
    POST + "Content-Length: 2\r\nExpect: a miracle\r\n\r\n{}",
    POST + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
    POST + "Content-Length: 99999999999\r\n\r\n",
    POST + "Content-Length: 0\r\n\r\n",
    POST + "Content-Length: 3\r\n\r\n{x}",
    POST + "Content-Length: 3\r\n\r\n[1]",
    POST + 'Content-Length: 15\r\n\r\n{"x":1,"x":[2]}',
    POST + 'Content-Length: 11\r\n\r\n{"x":1e999}',
    POST + "Content-Length: 2\r\nAccept-Encoding: identity;q=0\r\n\r\n{}",
    POST + 'Content-Length: 14\r\n\r\n{"x":"\\ud800"}',
]


def crowded(program, code, text, body, *options):
    """Asks while others have sent the text, until the code is seen; how many it takes is a matter of time."""
    with Server(program, *options) as server, contextlib.ExitStack() as others:
        for _ in range(10):
            for _ in range(0 if code in codes else 4):
                others.enter_context(server.open(text))
            check_answer(code, DOCUMENT["paths"]["/mha"]["post"], server.ask("POST", "/mha", body))


def check_refusals(program):
    mha = DOCUMENT["paths"]["/mha"]["post"]

    def computing(server, where, body=LONG, headers=None):
        return check_answer(where, mha, server.ask("POST", "/mha", body, headers or {}))

    with Server(program) as server:
        for text in RAW:
            check_answer(text[:60] + "...", None if " /none " in text else mha, server.ask_raw(text))
    with Server(program, "--header-timeout-ms", "100") as server:
        check_answer("half a request", mha, server.ask_raw("GET / HT"))
    with Server(program, "--max-multiply-adds", "1e6") as server:
        computing(server, "too many multiply-adds")
    with Server(program, "--max-request-memory-bytes", "1MiB") as server:
        computing(server, "too much memory")
    with Server(program) as server:
        computing(server, "a large answer", LONG.replace("1500", "2500").replace("[]", '["weights"]'))
    with Server(program, "--compute-timeout-ms", "1") as server:
        computing(server, "a deadline")
    with Server(program, "--rate-limit", "1") as server:
        for _ in range(3):
            computing(server, "too often", "{}")
    with Server(program, "--max-connections", "1") as server, server.open("GET "):
        check_answer("one connection too many", mha, server.ask("GET", "/"))
    with tempfile.NamedTemporaryFile("w") as keys:
        keys.write("0123456789abcdef0123456789abcdef\n")
        keys.flush()
        with Server(program, "--keys-file", keys.name) as server:
            computing(server, "no key")
    crowded(program, "busy", f"{POST}Content-Length: {len(LONG)}\r\n\r\n{LONG}", LONG, "--workers", "1", "--queue-depth", "1")
    body = LONG + " " * 3000000
    unfinished = f"{POST}Content-Length: {len(body) + 1}\r\n\r\n{body}"
    crowded(program, "memory_budget", unfinished, body, "--max-memory-bytes", "8MiB")
    with Server(program, "--shutdown-delay-ms", "500") as server:
        server.ask("GET", "/health/live")
        server.process.terminate()
        ready = DOCUMENT["paths"]["/health/ready"]["get"]
        while server.process.poll() is None and "shutting_down" not in codes:
            check_answer("stopping", ready, server.ask("GET", "/health/ready"))


def main():
    program = sys.argv[1]
    with Server(program) as server:
        fields = check_golden(server)
        check_documents(server)
    check_refusals(program)
    described = set(DOCUMENT["components"]["schemas"]["ProblemCode"]["enum"])
    for code in sorted(described - codes - UNSEEN):
        complain("no request was refused with", code)
    for complaint in complaints[:40]:
        print(f"answers: {complaint}")
    print(f"answers: {answers} answers, {fields} fields varied, {len(codes)} of {len(described)} problem codes; "
          f"{len(complaints)} disagreements with openapi.yaml")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
