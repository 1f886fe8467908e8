# queries.jq - what is wrong with PromQL queries (a stream of strings), by the metrics that the program serves.
#
#     jq -r --rawfile metrics METRICS -f queries.jq QUERIES
#
# A selector's metric and labels must be served, and for each alternative of a value there must be one that matches it.
# That is not asked of status, of which an idle server has few. One line a complaint.
def matchers: [scan("([a-z_]+)(?:=~|!~|!=|=)\"([^\"]*)\"") | {key: .[0], value: .[1]}];
def of_prometheus: IN("job", "instance");

# {NAME: [{LABEL: VALUE, ...}, ...]}
(reduce ($metrics | split("\n")[] | capture("^(?<name>[a-z_]+)(?:\\{(?<labels>.*)\\})? ")) as $line ({};
    .[$line.name] += [$line.labels // "" | matchers | from_entries])) as $served
| . as $query
| [scan("(dikkat_[a-z_]+)(?:\\{([^}]*)\\})?")] as $selectors
| ($selectors[] | .[0] as $name
    | if $served[$name] then
        .[1] // "" | matchers[] | select(.key | of_prometheus | not) | .key as $key
        | if $served[$name][0] | has($key) | not then
            "\($name) has no label \($key)"
          elif $key != "status" then
            .value | split("|")[] | . as $value
            | select([$served[$name][][$key] | test("^(?:\($value))$")] | any | not)
            | "\($name) has no \($key) that is \($value)"
          else empty end
      else
        "\($name) is asked for but not served"
      end),
  (scan("by \\(([^)]*)\\)")[0] | split(", ")[] | select(of_prometheus | not) | . as $key
    | select([$selectors[][0] | $served[.] // [{}] | .[0] | has($key)] | any | not)
    | "nothing has the label \($key) in \($query)")
