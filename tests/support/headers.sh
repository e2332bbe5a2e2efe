#!/bin/sh
# Says in one sentence what a build lacks, where the compiler would print a page.
#
#   headers.sh what "compiler and flags" header:package ...       status 1 if something is missing
set -eu

what=$1 compile=$2 missing=
shift 2
for pair; do
    # shellcheck disable=SC2086 # a command and its flags
    echo "#include <${pair%:*}>" | $compile -E -x c - >/dev/null 2>&1 || missing="$missing ${pair#*:}"
done
[ -n "$missing" ] || exit 0
command -v "${compile%% *}" >/dev/null || missing=" gcc (there is no ${compile%% *})"

hint=
[ "$what" = module ] || hint=" and \`make build/bloomport.so\` builds the module without the tool"
echo "Building the $what needs packages that are missing, by Debian's names:$missing." \
    "\`make deps\` installs them$hint." >&2
exit 1
