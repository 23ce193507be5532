#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Each lint can fail: a small clean tree passes all of them, and one violation of each kind, planted in a copy, is found.
# shellcheck disable=SC2016 # the planted scripts expand nothing here
set -euo pipefail
export LC_ALL=C.UTF-8
LINT=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(realpath "${1:?usage: selftest.sh TOP}")
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
CHECKS=0 BAD=0
SPDX='// SPDX-License-Identifier: MIT'

clean_tree() {  # a tree that every lint accepts
  rm -rf "$WORK/tree"
  mkdir -p "$WORK"/tree/{daemon/{util,model,verbs},tests/{lab,cluster},systemd,scenarios}
  cd "$WORK/tree"
  cp "$TOP/.clang-format" .
  cp "$TOP"/systemd/rdmatestd.service.in "$TOP"/systemd/*.socket systemd/
  printf '%s\n#pragma once\n\nint ring_size(int count);\n' "$SPDX" >daemon/util/ring.h
  printf '%s\n#include "util/ring.h"\n\n#include <errno.h>\n\nint ring_size(int count)\n{\n\tif (count < 0) {\n\t\treturn -EINVAL;\n\t}\n\treturn count;\n}\n' \
    "$SPDX" >daemon/util/ring.c
  printf '#!/bin/sh\n# SPDX-License-Identifier: MIT\necho "$1"\n' >tests/run.sh
  printf '#!/usr/bin/env bats\n# SPDX-License-Identifier: MIT\n@test "C04 a port" {\n  true\n}\n' >tests/lab/ports.bats
  printf '%s\n\nstatic void C05_a_case(void)\n{\n}\n\nstatic void (*const tests[])(void) = { TEST(C05_a_case) };\n' "$SPDX" >tests/cluster/cases.c
  printf '| row | `lab/ports.bats: C04 a` |\n| C04 | `lab/ports.bats: C04 a port` |\n| C05 | `cluster/cases.c: C05_a_case` |\n' >tests/MATRIX.md
  printf 'text\n<!-- fields -->\n# Fields\n<!-- /fields -->\n' >scenarios/README.md
  printf '#!/bin/sh\necho "# Fields"\n' >program
  chmod 755 program
  sed -i '1a # SPDX-License-Identifier: MIT' program
}

clean() {  # lint, arguments..
  local lint=$1; shift
  CHECKS=$((CHECKS + 1))
  if ! "$LINT/$lint.sh" "$WORK/tree" "$@" >"$WORK/out" 2>&1; then
    echo "selftest: $lint complains about the clean tree:"; cat "$WORK/out"; BAD=$((BAD + 1))
  fi
}

found() {  # text lint, arguments..: the lint fails and says text
  local text=$1 lint=$2; shift 2
  CHECKS=$((CHECKS + 1))
  if "$LINT/$lint.sh" "$WORK/tree" "$@" >"$WORK/out" 2>&1; then
    echo "selftest: $lint did not find: $text"; BAD=$((BAD + 1))
  elif ! grep -qF -- "$text" "$WORK/out"; then
    echo "selftest: $lint failed without saying '$text':"; cat "$WORK/out"; BAD=$((BAD + 1))
  fi
  clean_tree
}

body() {  # text of a function body -> daemon/util/extra.c
  printf '%s\nint extra(int a)\n{\n%b\n\treturn a;\n}\n' "$SPDX" "$1" >daemon/util/extra.c
}

compiled() {  # source -> objects named as meson names them
  mkdir -p "$WORK/objects/libbase.a.p"
  cc -c "$1" -I daemon -o "$WORK/objects/libbase.a.p/$(sed 's|^daemon/||; s|/|_|g' <<<"$1").o"
}

clean_tree
for lint in layers format heads sizes banned braces foreign scripts units matrix; do clean "$lint"; done
compiled daemon/util/ring.c
clean names "$WORK/objects"
clean fields "$WORK/tree/program"

include() { printf '%s\n#pragma once\n\n#include %s\n' "$SPDX" "$2" >"$1"; }
include daemon/util/low.h '"model/plan.h"'
found 'daemon/util/low.h:4: layers: util/ may not use model/' layers
include daemon/util/low.h '"ring.h"'
found 'names no folder' layers
include daemon/model/sample.h '<infiniband/verbs.h>'
found '<infiniband/verbs.h> belongs to: verbs engine' layers
include daemon/model/sample.h '<jansson.h>'
found '<jansson.h> belongs to: util' layers
include daemon/verbs/loop.h '<gnutls/gnutls.h>'
found '<gnutls/gnutls.h> belongs to: control' layers
include daemon/util/log.h '<systemd/sd-event.h>'
found '<systemd/sd-event.h> belongs to' layers
mkdir daemon/misc
include daemon/misc/misc.h '<errno.h>'
found 'is in no line' layers
rm -rf daemon
found 'found nothing to check' layers

printf '%s\nint  extra;\n' "$SPDX" >daemon/util/extra.c
found 'daemon/util/extra.c:1: format: not as clang-format' format
printf 'text \n' >NOTES.md
found 'NOTES.md:1: format: blanks' format
printf 'text' >NOTES.md
found 'NOTES.md: format: no newline' format

printf 'int extra;\n' >daemon/util/extra.c
found 'daemon/util/extra.c:1: heads: the first line' heads
printf '%s\nint extra;\n' "$SPDX" >daemon/util/extra.h
found 'daemon/util/extra.h:2: heads: the second line' heads
printf '%s\n#include <errno.h>\n\n#include "util/ring.h"\n' "$SPDX" >daemon/util/ring.c
found 'daemon/util/ring.c:2: heads: the first include' heads
printf '#!/bin/sh\necho\n' >tests/run.sh
found 'tests/run.sh:2: heads: no SPDX' heads

body "$(printf '\\ta++;\\n%.0s' {1..100})"
found 'daemon/util/extra.c:3: sizes: the function has' sizes
{ echo "$SPDX"; printf 'extern int a;\n%.0s' {1..600}; } >daemon/util/extra.c
found 'sizes: the file has 601 lines' sizes
{ echo "$SPDX"; printf '/* %0120d */\n' 0; } >daemon/util/extra.c
found 'daemon/util/extra.c:2: sizes: the line has' sizes

for name in strcpy strcat sprintf gets strtok atoi atol atof rand srand system popen alloca sleep usleep nanosleep signal \
  localtime strerror clock_gettime pthread_create getrandom; do
  body "\t$name(a);"
  found "daemon/util/extra.c:4: banned: $name" banned
done
body '\t/* strcpy(a) */\n\tconst char *s = "strcpy(a) // sleep(1)"; // gets(a)\n\tqueue->signal(a);'
clean banned
clean_tree
body 'again:\n\tif (a) {\n\t\tgoto again;\n\t}'
found 'banned: goto: jumps back' banned

body '\tif (a)\n\t\ta = 1;'
found 'daemon/util/extra.c:4: braces' braces
body '\tif (a) {\n\t\ta = 1;\n\t} else\n\t\ta = 2;'
found 'daemon/util/extra.c:6: braces' braces
body '\tfor (int i = 0; i < a &&\n\t     a < 2; i++)\n\t\ta++;'
found 'daemon/util/extra.c:4: braces' braces
body '\tdo {\n\t\ta++;\n\t} while (a < 3);\n\tif (a && /* why ( */\n\t    a > 2) {\n\t\ta = "){"[0];\n\t}'
clean braces
clean_tree

echo 'pass' >tests/check.py
found 'tests/check.py: foreign: a Python file' foreign
printf '#!/usr/bin/env python3\n' >tests/check
found 'tests/check:1: foreign: a Python script' foreign
printf '#!/bin/sh\n# SPDX-License-Identifier: MIT\npython3 -c "print(1)"\n' >tests/run.sh
found 'tests/run.sh:3: foreign: runs Python' foreign
printf 'see /home/someone/rdmatestd\n' >NOTES.md
found 'NOTES.md:1: foreign: a path' foreign

printf '#!/bin/sh\n# SPDX-License-Identifier: MIT\necho $1\n' >tests/run.sh
found 'tests/run.sh:3:6' scripts
printf '#!/bin/bash\n# SPDX-License-Identifier: MIT\ncd $1\n' >tests/tool
found 'tests/tool:3' scripts

sed -i 's/^Restart=.*/Restart=sometimes/' systemd/rdmatestd.service.in
found 'restart specifier' units
sed -i 's/^ExecStart=.*/ExecStart=\/usr\/sbin\/nothing/' systemd/rdmatestd.service.in
found 'nothing' units
sed -i '/^ProtectSystem=/d; /^SystemCallFilter=/d; /^NoNewPrivileges/d; /^CapabilityBoundingSet=/d' systemd/rdmatestd.service.in
found 'exposure is above' units

echo '| row | `lab/ports.bats: another` |' >>tests/MATRIX.md
found 'tests/MATRIX.md:4: matrix: tests/lab/ports.bats has no test "another"' matrix
echo '| row | `cluster/cases.c: a_case` |' >>tests/MATRIX.md
found 'tests/cluster/cases.c has no test "a_case"' matrix
echo '| row | `lab/none.bats: a` |' >>tests/MATRIX.md
found 'there is no tests/lab/none.bats' matrix
sed -i 's/^| C05 .*/| C05 | `lab\/ports.bats: C04 a` |/' tests/MATRIX.md
found 'the name of "C04 a" lacks C05' matrix
sed -i '/^| C05/d' tests/MATRIX.md
found 'no row for C05' matrix
echo text >tests/MATRIX.md
found 'found nothing to check' matrix
rm tests/MATRIX.md
found 'tests/MATRIX.md:1: matrix: missing' matrix

printf '%s\n#include "util/ring.h"\n\nint other_size(int count)\n{\n\treturn count;\n}\n' "$SPDX" >daemon/util/ring.c
compiled daemon/util/ring.c
found 'daemon/util/ring.c:1: names: exports other_size' names "$WORK/objects"
rm -rf "$WORK/objects"; mkdir "$WORK/objects"
found 'found nothing to check' names "$WORK/objects"

printf '<!-- fields -->\n# Fields\n| qp.new_key |\n<!-- /fields -->\n' >scenarios/README.md
found 'fields: not what rdmatestd --print-fields prints' fields "$WORK/tree/program"
printf '# Fields\n' >scenarios/README.md
found 'scenarios/README.md:1: fields: the marks' fields "$WORK/tree/program"
rm scenarios/README.md
found 'scenarios/README.md:1: fields: missing' fields "$WORK/tree/program"
printf '<!-- fields -->\n| `new_key` | integer | `0` |  |\n<!-- /fields -->\n' >scenarios/README.md
printf '#!/bin/sh\necho "| \\`new_key\\` | integer | \\`0\\` |  |"\n' >program
found 'fields: a key without a meaning (.doc of its schema): | `new_key` |' fields "$WORK/tree/program"
printf '#!/bin/sh\nexit 2\n' >program
found '--print-fields failed' fields "$WORK/tree/program"

echo "selftest: $CHECKS checks, $BAD bad"
((BAD == 0))
