# What the shell scripts of GNU coreutils' tests read first: the functions that they call.
fail=0
path_prepend_() { :; }
print_ver_() { :; }
very_expensive_() { skip_ expensive; }
expensive_() { skip_ expensive; }
skip_() { printf 'skipped: %s\n' "$1"; exit 77; }
skip_if_root_() { test "$(id -u)" -ne 0 || skip_ root; }
require_valgrind_() { command -v valgrind >/dev/null || skip_ "no valgrind"; }
framework_failure_() { exit 99; }
fatal_() { exit 99; }
compare() { diff -u "$1" "$2"; }
returns_() { expected=$1; shift; "$@"; test $? -eq "$expected"; }
getlimits_() {
  SIZE_MAX=18446744073709551615 SIZE_OFLOW=18446744073709551616
  UINTMAX_MAX=$SIZE_MAX UINTMAX_OFLOW=$SIZE_OFLOW
  DBL_MAX=1.797693e+308 DBL_MIN=2.225074e-308 FLT_MAX=3.402823e+38 FLT_MIN=1.175494e-38
  LDBL_MAX=1.189731e+4932 LDBL_MIN=3.362103e-4932
}
Exit() { exit "$1"; }
