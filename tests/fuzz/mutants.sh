#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Whether the fuzzers can find a bug: each patch mutants/TARGET-WHAT.patch plants one into a copy of the tree, whose target must
# then fail within the time. It begins with the inputs that people wrote; the corpus may know the way already.
#
# usage: mutants.sh [--time SECONDS] [PATCH]..      plants and searches, all or those named (TARGET-WHAT)
#        mutants.sh --check TOP                     only whether each patch applies (a lint)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

MUTANTS=$FUZZ/mutants
SECONDS_EACH=600
WORK=''

# Each patch names its target and applies as it is, to a file of daemon/ alone.
check() {  # tree
  local patch target file bad=0 count=0
  local -A per_target=()
  for patch in "$1"/tests/fuzz/mutants/*.patch; do
    [[ -e $patch ]] || break
    count=$((count + 1))
    target=${patch##*/} target=${target%%-*}
    per_target[$target]=$((${per_target[$target]:-0} + 1))
    [[ -e $1/tests/fuzz/fuzz-$target.c ]] || { echo "$patch: mutants: '$target' is no target" >&2; bad=$((bad + 1)); }
    while IFS= read -r file; do
      [[ $file == b/daemon/*.[ch] ]] || { echo "$patch: mutants: changes $file, which is no source of daemon/" >&2; bad=$((bad + 1)); }
    done < <(sed -n 's/^+++ \([^[:space:]]*\).*/\1/p' "$patch")
    if ! patch --dry-run --batch --silent --fuzz=0 -p1 -d "$1" <"$patch" >&2; then
      echo "$patch: mutants: does not apply any more; plant the same bug in what the code is now" >&2
      bad=$((bad + 1))
    fi
  done
  while IFS= read -r target; do
    ((${per_target[$target]:-0} >= 2)) || { echo "mutants: target $target has ${per_target[$target]:-0} mutants; two at least" >&2; bad=$((bad + 1)); }
  done < <(targets)
  ((count > 0 && bad == 0)) || { echo "mutants: $bad problems in $count patches" >&2; return 1; }
}

prepare() {  # a copy of the tree, configured
  WORK=$(mktemp -d)
  trap 'rm -rf "$WORK"' EXIT
  mkdir "$WORK/tree"
  tar -C "$TOP" --exclude=./.git --exclude='./build*' --exclude=./.cache -cf - . | tar -C "$WORK/tree" -xf -
  CC=clang meson setup "$WORK/build" "$WORK/tree" -Dfuzz=true -Db_lundef=false -Dbuildtype=debugoptimized >"$WORK/setup.log" 2>&1 ||
    { cat "$WORK/setup.log"; die "the copy cannot be configured"; }
}

build() {  # target
  nice -n 19 ninja -C "$WORK/build" "tests/fuzz/fuzz-$1" "tests/fuzz/$1.dict" >"$WORK/build.log" 2>&1
}

# The inputs that people wrote, whatever fuzzing has found since; of configurations the good ones, since the bad ones know most ways.
seeds() {  # target
  local file folder count=0
  rm -rf "$WORK/seeds"
  mkdir "$WORK/seeds"
  while IFS= read -r folder; do
    while IFS= read -r file; do
      if ! is_found "$file"; then cp "$file" "$WORK/seeds/seed-$((count += 1))"; fi
    done < <(find "$folder" -type f)
  done < <(echo "$WORK/tree/tests/fuzz/corpus/$1"; seed_folders "$1" "$WORK/tree" | sed 's|/config$|/config/good|')
}

# 0 when it found something. Not when it only took long, which a busy machine does to any input; and who ends it spoils the result.
fails() {  # target, seconds, log: runs the fuzzer over the seeds and on
  local rc=0
  fuzzer "$WORK/build" "$1" -max_total_time="$2" -artifact_prefix="$WORK/finding-" "$WORK/seeds" >"$3" 2>&1 </dev/null || rc=$?
  case $rc in
    0 | 70) return 1 ;;
    72 | 130 | 137 | 143) die "$1: the fuzzer was ended by somebody" ;;
    *) return 0 ;;
  esac
}

one_mutant() {  # patch
  local name=${1##*/} target began how took log=$WORK/fuzz.log
  name=${name%.patch} target=${name%%-*}
  patch --batch --silent --fuzz=0 -p1 -d "$WORK/tree" <"$1" || { echo "$name: does not apply"; return 1; }
  if ! build "$target"; then
    tail -n 30 "$WORK/build.log"
    echo "$name: does not compile"
    return 1
  fi
  seeds "$target"
  began=$SECONDS how=''
  if fails "$target" "$SECONDS_EACH" "$log"; then
    took=$((SECONDS - began))
    how=$(grep -m 1 -oE '(runtime error: .*|Assertion .* failed|ERROR: (Address|Leak)Sanitizer: [a-z-]+|ERROR: libFuzzer: [a-z-]+)' "$log" || echo '?')
    # nothing was mutated yet: an input that someone wrote was enough
    if ! grep -q '^#[0-9]*	INITED' "$log"; then took="$took (seed)"; fi
    printf '%-34s found after %10s s  %s\n' "$name" "$took" "${how:0:90}"
  else
    printf '%-34s NOT FOUND within %s s\n' "$name" "$SECONDS_EACH"
  fi
  patch --batch --silent -R -p1 -d "$WORK/tree" <"$1"
  [[ $how ]]
}

if [[ ${1:-} == --check ]]; then
  check "$(realpath "${2:?usage: mutants.sh --check TOP}")"
  exit
fi
NAMES=()
while (($#)); do
  case $1 in
    --time) SECONDS_EACH=$(number --time "${2:-}"); shift 2 ;;
    -*) die "unknown option '$1'" ;;
    *) [[ -e $MUTANTS/$1.patch ]] || die "there is no mutant '$1'"; NAMES+=("$MUTANTS/$1.patch"); shift ;;
  esac
done
((${#NAMES[@]})) || NAMES=("$MUTANTS"/*.patch)
check "$TOP"
prepare
# without a bug nothing is found: else every mutant would be
while IFS= read -r target; do
  build "$target" || { tail -n 30 "$WORK/build.log"; die "$target: the copy does not compile"; }
  seeds "$target"
  if fails "$target" 10 "$WORK/fuzz.log"; then
    cat "$WORK/fuzz.log"
    die "$target fails without any mutant"
  fi
done < <(for patch in "${NAMES[@]}"; do patch=${patch##*/}; echo "${patch%%-*}"; done | sort -u)
FAILED=0
for patch in "${NAMES[@]}"; do one_mutant "$patch" || FAILED=$((FAILED + 1)); done
echo "$((${#NAMES[@]} - FAILED)) of ${#NAMES[@]} planted bugs found"
((FAILED == 0))
