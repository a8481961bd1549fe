# Read by the other scripts: where Swift is, and how to talk.

# Words go to standard error, so that results stay alone on standard output.
say() { printf '%s\n' "$*" >&2; }
fail() {
  say "error: $*"
  exit 1
}

# Puts Swift into PATH if it is in one of the usual places, and checks its version.
find_swift() {
  if ! command -v swift >/dev/null 2>&1; then
    for folder in /opt/swift/usr/bin "$HOME/.local/share/swiftly/bin" "$HOME/.swiftly/bin" /usr/libexec/swift/bin; do
      if [ -x "$folder/swift" ]; then
        PATH="$folder:$PATH"
        export PATH
        break
      fi
    done
  fi
  command -v swift >/dev/null 2>&1 ||
    fail "swift is not in PATH. Install Swift 6.3 or newer from https://www.swift.org/install/linux/ and try again."
  version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\)\.\([0-9]*\).*/\1 \2/p' | head -n 1)
  # shellcheck disable=SC2086
  set -- ${version:-0 0}
  if [ "$1" -lt 6 ] || { [ "$1" -eq 6 ] && [ "$2" -lt 3 ]; }; then
    fail "Swift 6.3 or newer is needed; this is $(swift --version 2>/dev/null | head -n 1)"
  fi
}
