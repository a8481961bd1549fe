# Read by scripts that consist of several parts: what each of them took.
#   part NAME COMMAND...   runs it, notes its time, and ends with its code
#   table                  what every part took; the last that is asked

parts=$(mktemp)

part() {
  part_name=$1
  shift
  part_began=$(date +%s)
  part_code=0
  "$@" || part_code=$?
  printf '%s|%s|%s\n' "$part_name" "$(($(date +%s) - part_began))" "$([ "$part_code" -eq 0 ] || echo failed)" >>"$parts"
  return "$part_code"
}

table() {
  awk -F'|' '{ all += $2; printf "%-34s %5d s  %s\n", $1, $2, $3 } END { printf "%-34s %5d s\n", "all of it", all }' "$parts"
  rm -f "$parts"
}
