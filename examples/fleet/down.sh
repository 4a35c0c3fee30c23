#!/usr/bin/env bash
# Ends what up.sh started: down.sh [FOLDER]
#
# The agents stay in the folder, and up.sh goes on with them.
set -euo pipefail
here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/folder.sh
. "$here/folder.sh"

take_folder "$@"
need_folder
end_all
echo "the agents stay in $(postgres_folder); $(call up.sh) goes on with them"
