#!/usr/bin/env bash
# Starts one PostgreSQL, and three servers of Wakeful that share a store in it: up.sh [FOLDER]
#
# Everything is in the folder (./fleet without an argument), and listens on the loopback only.
# $WAKEFUL names the program, and $PG_BIN the folder of PostgreSQL, if they are not found.
set -euo pipefail
here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/folder.sh
. "$here/folder.sh"

# The seconds after which a server that is gone loses its agents. Short, because a person waits.
lease_seconds=3

# The program of the variable, of the path, or of this tree.
find_wakeful() {
    local built
    wakeful=${WAKEFUL:-$(command -v wakeful || true)}
    for built in "$here"/../../target/{debug,release}/wakeful; do
        [ -n "$wakeful" ] || [ ! -x "$built" ] || wakeful=$built
    done
    [ -n "$wakeful" ] ||
        fail 3 'wakeful is missing: cargo xtask run, or name the program in WAKEFUL'
    [ -x "$wakeful" ] || fail 2 "\`$wakeful\` is not a program"
    wakeful=$(realpath -- "$wakeful")
}

find_postgres() {
    local missing='PostgreSQL is missing: apt-get install postgresql,'
    missing+=' or name the folder of its programs in PG_BIN'
    programs=${PG_BIN:-}
    if [ -z "$programs" ]; then
        # Debian has a folder for each version, and none of them is in the path.
        programs=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
        [ -x "$programs/initdb" ] || programs=$(dirname -- "$(command -v initdb || echo missing/)")
    fi
    [ -x "$programs/initdb" ] || fail 3 "$missing"
    programs=$(cd -- "$programs" && pwd)
    as_user=()
    if [ "$EUID" -eq 0 ]; then
        # PostgreSQL refuses to run as root. Its packages make this user.
        id postgres >/dev/null 2>&1 ||
            fail 3 'root needs the user of PostgreSQL: useradd --system postgres'
        as_user=(setpriv "--reuid=$(id -u postgres)" "--regid=$(id -g postgres)" --clear-groups)
    fi
}

# Becomes a program of PostgreSQL. Its user may not be allowed to enter the current folder.
become() {
    cd /
    LC_ALL=C exec "${as_user[@]}" "$programs/$1" "${@:2}"
}

# Runs a program of PostgreSQL.
postgres() {
    (become "$@")
}

# Waits until a command succeeds, which asks a process that was just started. Ends earlier if that
# process dies.
within_life() {
    local process=$1
    shift
    answers_or_is_gone() {
        "$@" || ! kill -0 "$process" 2>/dev/null
    }
    within 30 answers_or_is_gone "$@" && "$@"
}

# Sets `port` to one on which nobody listens. It is below those that systems give to clients.
find_port() {
    port=$((20000 + RANDOM % 10000))
    while (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
        port=$((20000 + RANDOM % 10000))
    done
}

# Makes an empty database. Only the role `wakeful` can reach it: it owns this database, and has no
# right to run programs or to read files, which other users of the machine could use otherwise.
make_database() {
    local data=$1
    rm -rf "$data.new"
    quietly postgres initdb -U postgres -A reject --no-locale -E UTF8 -N -D "$data.new" >/dev/null
    echo 'host wakeful wakeful 127.0.0.1/32 trust' >"$data.new/pg_hba.conf"
    printf '%s\n' "listen_addresses = '127.0.0.1'" "unix_socket_directories = ''" \
        >>"$data.new/postgresql.conf"
    printf '%s\n' 'CREATE ROLE wakeful LOGIN' 'CREATE DATABASE wakeful OWNER wakeful' |
        quietly postgres postgres --single -D "$data.new" postgres >/dev/null
    mv "$data.new" "$data"
}

start_postgres() {
    if [ ! -e "$folder/postgres" ]; then
        mkdir "$folder/postgres"
        if [ "$EUID" -eq 0 ] && ! "${as_user[@]}" test -x "$folder/postgres"; then
            # A folder of root, such as its home, is closed to the user of PostgreSQL.
            rmdir "$folder/postgres"
            local elsewhere
            elsewhere=$(mktemp -d "${TMPDIR:-/tmp}/wakeful-example-XXXXXX")
            ln -s "$elsewhere" "$folder/postgres"
        fi
        [ "$EUID" -ne 0 ] || chown postgres: "$folder/postgres/"
    fi
    local place
    place=$(postgres_folder)
    [ -e "$place/data" ] || make_database "$place/data"
    find_port
    become postgres -D "$place/data" -p "$port" </dev/null >>"$place/log" 2>&1 &
    within_life $! postgres pg_isready -q -h 127.0.0.1 -p "$port" -U wakeful ||
        fail 1 "PostgreSQL does not start; see $place/log"
    store="postgres://wakeful@127.0.0.1:$port/wakeful"
    echo "store     $store"
    [ "$place" = "$folder/postgres" ] || echo "          its files are in $place"
}

start_server() {
    local number=$1 log="$folder/server-$1.log"
    find_port
    echo "http://127.0.0.1:$port" >"$folder/server-$number.url"
    "$wakeful" serve --store "$store" --listen "127.0.0.1:$port" \
        --public-url "http://127.0.0.1:$port" --lease "$lease_seconds" \
        </dev/null >"$log" 2>&1 &
    echo $! >"$folder/server-$number.pid"
    if ! within_life $! is_ready "$number"; then
        tail -n 5 "$log" >&2
        fail 1 "server $number does not start; see $log"
    fi
    echo "server $number  $(url "$number")"
}

take_folder "$@"
if [ -n "$folder" ]; then
    for number in "${servers[@]}"; do
        ! server_runs "$number" ||
            fail 1 "the servers of \`$named\` run already; to end them, run $(call down.sh)"
    done
    ! postgres_runs ||
        fail 1 "PostgreSQL of \`$named\` runs already; to end it, run $(call down.sh)"
    [ -z "$(ls -A "$folder")" ] || [ -e "$folder/postgres" ] ||
        fail 2 "\`$named\` has other files in it, and was not changed; name another folder"
fi
command -v curl >/dev/null || fail 3 'curl is missing: apt-get install curl'
find_wakeful
find_postgres
mkdir -p -- "$named"
take_folder "$named"

# From here on something runs, and ends if the rest fails.
trap 'end_all >/dev/null' EXIT
start_postgres
if [ ! -e "$folder/token" ]; then
    # The token may do everything, so only its owner can read it.
    scopes=(--scope read --scope prompt --scope operate --scope ingress)
    (umask 077 && quietly "$wakeful" token create operator --store "$store" "${scopes[@]}" \
        >"$folder/token.new")
    mv "$folder/token.new" "$folder/token"
fi
ln -sfn "$wakeful" "$folder/wakeful"
for number in "${servers[@]}"; do
    start_server "$number"
done
trap - EXIT
echo "next: $(call wake.sh)"
