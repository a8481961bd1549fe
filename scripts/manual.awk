# Edits one page of generate-manual: see scripts/manual.

function escaped(text) {
  gsub(/\\/, "\\e", text)
  return text ~ /^['.]/ ? "\\&" text : text
}

# Examples are shown as they are typed.
function literal(text, first,    lines, count, i) {
  count = split(text, lines, "\n")
  print ".Bd -literal"
  for (i = 1; i <= count; i++) {
    if (first && i == 1) sub(/^Examples?: */, "", lines[i])
    else sub(/^ +/, "", lines[i])
    print escaped(lines[i])
  }
  print ".Ed"
}

# "2 this happened, 3 that" as a list.
function codes(text,    parts, count, i) {
  gsub(/\n/, " ", text)
  sub(/^Exit codes?: */, "", text)
  sub(/\.$/, "", text)
  gsub(/, [0-9]+ /, "\n&", text)
  gsub(/\n, /, "\n", text)
  count = split(text, parts, "\n")
  print ".Bl -tag -width 4n"
  for (i = 1; i <= count; i++) {
    print ".It " substr(parts[i], 1, index(parts[i], " ") - 1)
    print escaped(substr(parts[i], index(parts[i], " ") + 1))
  }
  print ".El"
}

function paragraph() {
  if (held == "") return
  if (held ~ /^Examples?:/) examples = held
  else if (held ~ /^Exit codes?:/) exits = held
  else {
    if (!written) print ".Sh DESCRIPTION"
    if (held ~ /^  /) literal(held, 0)
    else print (written ? ".Pp\n" : "") held_escaped
    written = 1
  }
  held = held_escaped = ""
}

/^\.\\"/ { next }
/^\.Dt / { $2 = toupper($2); gsub(/\./, "-", $2); print ".Dt " $2 " " $3; next }
/^\.Nm / { gsub(/"/, ""); sub(/^\.Nm /, ""); name = $0; gsub(/ /, "-"); print ".Nm " $0; next }
/^\.Nm$/ { print ".Nm " name; next }
/^\.Nd / { sub(/\."$/, "\""); print; next }
/^\.Xr / {
  page = $2 "." $3
  if (index(hidden, " " page " ")) next
  gsub(/\./, "-", $2)
  seen[++references] = $2 " " $3
  next
}
/^\.Sh DESCRIPTION/ { describing = 1; next }
/^\.Sh "EXIT STATUS"/ {
  paragraph()
  describing = 0
  print ".Sh EXIT STATUS"
  if (exits != "") { codes(exits); print ".Pp" }
  else print "0 if all that was asked for is done."
  if (name ~ /^vault ./) { print ".Xr vault 1"; print "lists all exit codes." }
  if (examples != "") { print ".Sh EXAMPLES"; literal(examples, 1) }
  next
}
/^\.Sh "SEE ALSO"/ || /^\.Ex / { next }
/^\.Bl / { paragraph(); if (describing) print ".Sh OPTIONS"; describing = 0; print; next }
/^\.(Sh|Nm|Nd|Ar|Op|Fl|It|El|Dd|Os|Pp)( |$)/ { print; next }
describing && /^$/ { paragraph(); next }
describing {
  held = held == "" ? $0 : held "\n" $0
  held_escaped = held_escaped == "" ? escaped($0) : held_escaped "\n" escaped($0)
  next
}
/^$/ { print ".Pp"; next }
{ print escaped($0) }

END {
  if (!references && name ~ /^vault ./) seen[++references] = "vault 1"
  if (references) print ".Sh SEE ALSO"
  for (i = 1; i <= references; i++) print ".Xr " seen[i] (i < references ? " ," : "")
}
