# serve.sh - to be sourced: where a server that was just started can be reached.

# served_at LOG PID - prints the address that the server names in LOG, such as http://127.0.0.1:8080. Fails when it has
# ended, or did not serve within ten seconds.
served_at() {
    local address
    for ((i = 0; i < 200; i++)); do
        address=$(sed -n 's/^dikkat serves \(http[^ ]*\) - try.*/\1/p' "$1")
        if [ -n "$address" ]; then
            echo "$address"
            return
        fi
        kill -0 "$2" 2>/dev/null || return 1
        sleep 0.05
    done
    return 1
}
