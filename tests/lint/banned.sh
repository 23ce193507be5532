#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Functions that have no place here, functions that have one place (the seams that tests replace), and backward goto.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

TABLE=$(mktemp)
trap 'rm -f "$TABLE"' EXIT
# name: what to do instead
cat >"$TABLE" <<'END'
strcpy unbounded; use text_* or snprintf
strcat unbounded; use text_* or snprintf
stpcpy unbounded; use text_* or snprintf
strncpy may leave no terminator; use snprintf
strncat its size is not the buffer's; use snprintf
sprintf unbounded; use snprintf
vsprintf unbounded; use vsnprintf
gets unbounded; use getline
scanf overflows on large numbers; use units_* or strtoull
fscanf overflows on large numbers; use units_* or strtoull
strtok keeps state; use strsep or text_*
atoi accepts anything; use units_*
atol accepts anything; use units_*
atoll accepts anything; use units_*
atof accepts anything; use units_*
rand not random; use random_*
srand not random; use random_*
random not random; use random_*
rand_r not random; use random_*
drand48 not random; use random_*
system runs a shell; there is no need
popen runs a shell; there is no need
alloca unbounded stack; use memory_*
sleep wait for an event, with a deadline
usleep wait for an event, with a deadline
nanosleep wait for an event, with a deadline
clock_nanosleep wait for an event, with a deadline
signal semantics differ; use sigaction or signalfd
tmpnam a race; use mkstemp
tempnam a race; use mkstemp
mktemp a race; use mkstemp
gmtime not thread-safe; use gmtime_r
localtime not thread-safe; use gmtime_r
ctime not thread-safe; use strftime
asctime not thread-safe; use strftime
gethostbyname blocks, not thread-safe; use net_*
inet_ntoa not thread-safe; use inet_ntop
inet_addr cannot tell an error; use inet_pton
strerror not thread-safe; use strerror_r or %m
setjmp no jumps out of functions
longjmp no jumps out of functions
pthread_cancel threads end by being told
clock_gettime only util/clock reads time
gettimeofday only util/clock reads time
time only util/clock reads time
getrandom only util/random
pthread_create only util/thread
END

# Files that are the one place, or replace it in tests; a test program may give up by sleeping or reading time itself.
allowed() {  # function file
  case $1:$2 in
    clock_gettime:daemon/util/clock.c | clock_nanosleep:daemon/util/clock.c | pthread_create:daemon/util/thread.c | getrandom:daemon/util/random.c) ;;
    clock_gettime:tests/* | nanosleep:tests/* | usleep:tests/* | pthread_create:tests/* | clock_nanosleep:tests/*) ;;
    *) return 1 ;;
  esac
}

mapfile -t FILES < <(c_files daemon api tests)
seen "${#FILES[@]}"
for file in "${FILES[@]}"; do
  while read -r line name reason; do
    allowed "$name" "$file" || problem "$file:$line: banned: $name: $reason"
  done < <(awk -f "$LINT/strip.awk" "$file" | awk -v table="$TABLE" '
    BEGIN {
      while ((getline row < table) > 0) {
        at = index(row, " ")
        why[substr(row, 1, at - 1)] = substr(row, at + 1)
      }
    }
    {
      rest = $0
      while (match(rest, /[A-Za-z_][A-Za-z_0-9]*[ \t]*\(/)) {
        name = substr(rest, RSTART, RLENGTH - 1)
        sub(/[ \t]+$/, "", name)
        before = RSTART > 1 ? substr(rest, RSTART - 1, 1) : ""
        if ((name in why) && before != "." && before != ">") {
          print NR, name, why[name]
        }
        rest = substr(rest, RSTART + RLENGTH)
      }
    }
    /^[A-Za-z_][A-Za-z_0-9]*:$/ { label = $0; sub(/:/, "", label); labels[label] = NR }
    /^\}/ { split("", labels) }
    match($0, /goto [A-Za-z_0-9]+;/) {
      label = substr($0, RSTART + 5, RLENGTH - 6)
      if (label in labels) {
        print NR, "goto", "jumps back to line " labels[label] "; only forward, to one out:"
      }
    }')
done
finish
