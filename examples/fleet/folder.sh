# What up.sh, wake.sh and down.sh share: the folder of a fleet, and which of its processes run.
# shellcheck shell=bash

# With it, `cd` could enter another folder than the named one, and print it.
unset CDPATH

servers=(1 2 3)

# Says why the script cannot go on, and ends it with an exit code.
fail() {
    printf '%s: %s\n' "${0##*/}" "$2" >&2
    exit "$1"
}

# Takes the script's argument, if there is one. `folder` is the absolute path of what `named` names.
take_folder() {
    [ $# -le 1 ] || fail 2 'name one folder, or none for ./fleet'
    named=${1:-fleet}
    case $named in -*) fail 2 "\`$named\` is not a folder; usage: ${0##*/} [FOLDER]" ;; esac
    folder=$(cd -P -- "$named" 2>/dev/null && pwd) || folder=
}

# Ends the script if up.sh has not made the folder.
need_folder() {
    if [ -z "$folder" ] || [ ! -e "$folder/token" ]; then
        fail 2 "\`$named\` is not a folder of up.sh; run $(call up.sh)"
    fi
}

# How to call another of these scripts for the same folder.
call() {
    local words=("$(dirname -- "$0")/$1")
    [ "$named" = fleet ] || words+=("$named")
    printf '%s' "$(printf '%q ' "${words[@]}")" | sed 's/ $//'
}

# Runs a command. What it says beside its output is shown only if it fails.
quietly() {
    local remarks code=0
    remarks=$(mktemp)
    "$@" 2>"$remarks" || code=$?
    [ "$code" -eq 0 ] || cat "$remarks" >&2
    rm -f "$remarks"
    return "$code"
}

# Waits until a command succeeds. Gives up after this number of seconds.
within() {
    local until=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$until" ] || return 1
        sleep 0.1
    done
}

# The address of a server, as the others know it.
url() {
    cat "$folder/server-$1.url" 2>/dev/null
}

# Runs a command of the program that up.sh found, at a server.
ask() {
    WAKEFUL_SERVER=$(url "$1") WAKEFUL_SERVER_TOKEN=$(cat "$folder/token") \
        "$folder/wakeful" "${@:2}"
}

is_ready() {
    curl -fs --noproxy '*' --max-time 5 -o /dev/null "$(url "$1")/readyz"
}

# Whether the process of a file with process ids runs. The system may have given an old id to
# another program, so the process must also have these arguments.
runs() {
    local pid
    pid=$(head -n 1 "$1" 2>/dev/null) && [ -n "$pid" ] &&
        tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -F -- "$2 " >/dev/null
} 2>/dev/null

server_runs() {
    runs "$folder/server-$1.pid" "--public-url $(url "$1")"
}

# The folder of PostgreSQL, without links: its process has this path among its arguments.
postgres_folder() {
    cd -P -- "$folder/postgres" 2>/dev/null && pwd
}

postgres_runs() {
    local data
    data=$(postgres_folder)/data && runs "$data/postmaster.pid" "-D $data"
}

gone() {
    ! "$@"
}

# Ends what runs: the servers first, because they use the store.
end_all() {
    local number
    for number in "${servers[@]}"; do
        server_runs "$number" || continue
        kill -TERM "$(cat "$folder/server-$number.pid")"
        if ! within 30 gone server_runs "$number"; then
            kill -KILL "$(cat "$folder/server-$number.pid")"
            within 5 gone server_runs "$number"
        fi
        echo "server $number ended"
    done
    if postgres_runs; then
        # SIGINT closes the connections, and ends in order.
        kill -INT "$(head -n 1 "$folder/postgres/data/postmaster.pid")"
        within 30 gone postgres_runs || fail 1 "PostgreSQL does not end; see $folder/postgres/log"
        echo "PostgreSQL ended"
    fi
}
