#!/usr/bin/env bash
# Wakes an agent through one server while the server that drives it dies: wake.sh [FOLDER]
#
# up.sh has started the servers. What this prints about them, it has asked them.
set -euo pipefail
here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/folder.sh
. "$here/folder.sh"

# The lease of the dead server must end before another one may drive its agent.
patience_seconds=30

milliseconds() {
    date +%s%3N
}

# Asks a server over HTTP: its number, a method, a path and a body. Sets `status` and `answer`.
http() {
    local body=()
    [ -z "${4:-}" ] || body=(-d "$4")
    # The token goes through standard input, because other users can see arguments.
    answer=$(curl -sS --noproxy '*' --max-time 10 --config - -X "$2" "${body[@]}" \
        -w '\n%{http_code}' "$(url "$1")$3" \
        <<<"header = \"Authorization: Bearer $(cat "$folder/token")\"") || answer=$'\n000'
    status=${answer##*$'\n'}
    answer=${answer%$'\n'*}
}

# Sets `driver` to the server that drives the agent, as a server says; empty if none does.
ask_who_drives() {
    local address number
    address=$(ask "$1" agents --json | grep -F "\"agent_id\":\"$agent\"" |
        grep -o '"driven_by":{[^}]*}' | grep -o '"address":"[^"]*"' | cut -d '"' -f 4) || true
    driver=
    for number in "${servers[@]}"; do
        [ "$address" != "$(url "$number")" ] || driver=$number
    done
    [ -n "$driver" ]
}

another_drives() {
    ask_who_drives "$1" && [ "$driver" != "$dead" ]
}

turn_is_open() {
    http "$1" GET "/v1/agents/$agent/turn"
    [ "$status" = 200 ]
}

# Prints a command that asks the driver, as a reader can repeat it, and what the command prints.
show() {
    local words=("$named/wakeful" "$@" --server "$(url "$driver")" --token-file "$named/token")
    printf '\n>'
    printf ' %q' "${words[@]}"
    echo
    # The code 1 is not a failure: something is odd about an agent, and the output says what.
    "${words[@]}" || [ $? -eq 1 ]
}

take_folder "$@"
need_folder
ready=()
for number in "${servers[@]}"; do
    if server_runs "$number" && is_ready "$number"; then
        ready+=("$number")
    fi
done
[ "${#ready[@]}" -ge 2 ] ||
    fail 1 "this needs two servers, and ${#ready[@]} run; run $(call down.sh) and $(call up.sh)"
first=${ready[0]}

# The agents of earlier runs are still there, so find a name that none of them has.
agent=ada
count=1
http "$first" PUT "/v1/agents/$agent" '{"turns":"elsewhere"}'
while [ "$status" = 200 ]; do
    count=$((count + 1))
    agent=ada-$count
    http "$first" PUT "/v1/agents/$agent" '{"turns":"elsewhere"}'
done
[ "$status" = 201 ] || fail 1 "server $first does not make the agent: $status $answer"
trigger=$(quietly ask "$first" trigger create build --agent "$agent" --mode message)
echo "server $first made the agent \`$agent\`, and the trigger \`build\` that wakes it"

within 10 ask_who_drives "$first" || fail 1 "no server drives \`$agent\`"
dead=$driver
echo "server $dead drives it"
other=
for number in "${ready[@]}"; do
    [ "$number" = "$dead" ] || other=${other:-$number}
done

kill -KILL "$(cat "$folder/server-$dead.pid")"
killed=$(milliseconds)
echo "server $dead was killed with kill -9"
said=$(ask "$other" send deliver "$trigger" 'the build is green')
echo "server $other took a delivery for the agent: $said"

within "$patience_seconds" another_drives "$other" ||
    fail 1 "no other server drives \`$agent\` after $patience_seconds seconds"
within "$patience_seconds" turn_is_open "$other" ||
    fail 1 "no turn of \`$agent\` is open after $patience_seconds seconds: $status $answer"
took=$(($(milliseconds) - killed))
text=$(grep -o '"body":{[^}]*}' <<<"$answer" | grep -o '"text":"[^"]*"' | cut -d '"' -f 4) || true
[ "$text" = 'the build is green' ] || fail 1 "the turn is not on the delivery: $answer"
echo "another server drives it now: server $driver"
echo "its turn is open, on the message: $text"
printf 'seconds from the kill to the open turn: %d.%d\n' $((took / 1000)) $((took % 1000 / 100))

show agents
show why --agent "$agent"
