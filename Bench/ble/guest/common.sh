# Read by bench and measure, in the guest: two controllers, two people with a vault each, and how to say what came out.
# Alice has adapter 0, and Carol when Alice has gone; Bob has adapter 1. What btvirt gives them:
alice_address=00:AA:01:00:00:00
bob_address=00:AA:01:01:00:01
alice_adapter=0
bob_adapter=1
# Part of the protocol: docs/formats/ble.md.
service=226f3fd0-f33d-499c-8e7d-93dccfba5417
psm=0x81
# btvirt reports an advertisement once, when it begins. With two on an adapter the kernel takes turns, and each turn is a beginning.
filler=00000000-1111-2222-3333-444444444444

results=/run/results
vault=/run/programs/vault
tool=/run/programs/ble-tool
work=/run/work
daemons=
steps=0
way=

say() { printf '%s\n' "$*"; }

good() {
  steps=$((steps + 1))
  earlier=${now:-0}
  now=$(cut -d. -f1 /proc/uptime)
  say "ok $steps - $way: $* ($((now - earlier)) s)"
}

# bad TEXT: what went wrong, with all that may tell why; ends the bench.
bad() {
  steps=$((steps + 1))
  say "not ok $steps - $way: $*"
  for log in "$work"/*.out "$work"/*.err "$work"/*/daemon.log "$work"/*.log; do
    [ -s "$log" ] || continue
    say "# the last of ${log#"$work"/}"
    tail -n 25 "$log" | sed 's/^/#   /'
  done
  "$tool" adapters | sed 's/^/# adapter /'
  exit 1
}

# until_true SECONDS COMMAND...: tries until it succeeds.
until_true() {
  tries=$(($1 * 4))
  shift
  while ! "$@" >/dev/null 2>&1; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || return 1
    sleep 0.25
  done
}

people() {
  mkdir -p "$work"
  id=1000
  for person in Alice Bob Carol; do
    id=$((id + 1))
    printf '%s:x:%d:%d::%s:/bin/sh\n' "$person" "$id" "$id" "$work/$person" >>/etc/passwd
    printf '%s:x:%d:\n' "$person" "$id" >>/etc/group
  done
}

# The word before a command that makes it one of this person: an ordinary user, but for CAP_NET_ADMIN where the kernel is asked directly.
become() {
  privilege=
  [ "$way" != mgmt ] || privilege="--inh-caps +net_admin --ambient-caps +net_admin"
  # shellcheck disable=SC2086
  set -- setpriv --reuid "$1" --regid "$1" --clear-groups $privilege env -i PATH="$PATH" LC_ALL=C.UTF-8 HOME="$work/$1" \
    VAULT_HOME="$work/$1/vault"
  printf '%s ' "$@"
}

# as PERSON ARGUMENTS...: runs vault; what it says is in $work/PERSON.out and .err.
as() {
  person=$1
  shift
  (
    cd "$work/$person" || exit 1
    # shellcheck disable=SC2046
    exec timeout -k 5 90 $(become "$person") "$vault" "$@" </dev/null
  ) >"$work/$person.out" 2>"$work/$person.err"
}

# must PERSON ARGUMENTS...: the same, and it has to succeed.
must() {
  code=0
  as "$@" || code=$?
  [ "$code" -eq 0 ] || bad "vault $* ended with $code"
}

start_daemon() {
  mark "$1"
  (
    cd "$work/$1" || exit 1
    # shellcheck disable=SC2046
    exec $(become "$1") "$vault" daemon --ble --verbose </dev/null
  ) >>"$work/$1/daemon.log" 2>&1 &
  eval "daemon_$1=$!"
  answers "$1"
}

# mark PERSON, later answers PERSON: the daemon says once more that it is found and answers.
mark() {
  marked=$(times_found "$1")
  marked=${marked:-0}
}
answers() { until_true 30 found_again "$1" || bad "the daemon of $1 is not found and does not answer over Bluetooth"; }
found_again() { [ "$(times_found "$1")" -gt "$marked" ]; }
times_found() { grep -c 'found and answering over Bluetooth' "$work/$1/daemon.log" 2>/dev/null; }

stop_daemon() {
  eval "process=\$daemon_$1"
  kill "-${2:-TERM}" "$process" 2>/dev/null
  wait "$process" 2>/dev/null
  return 0
}

# Three vaults that know one another's cards and listen on no network, as `run` made them; Bob's daemon is on the air.
set_up() {
  for person in Alice Bob Carol; do
    rm -rf "${work:?}/$person"
    cp -R "$results/$person" "$work/$person"
    chown -R "$person:$person" "$work/$person"
  done
  start_daemon Bob
}

controllers_there() { [ -e /sys/class/bluetooth/hci0 ] && [ -e /sys/class/bluetooth/hci1 ]; }
controllers_gone() { [ ! -e /sys/class/bluetooth/hci0 ] && [ ! -e /sys/class/bluetooth/hci1 ]; }

plug_in() {
  btvirt -L -l2 >"$work/btvirt.log" 2>&1 &
  controllers=$!
  use_controllers
}

# plug_in_radio MILLISECONDS SLOWNESS: two controllers that take as long as a radio with this connection interval, or so many times as long.
plug_in_radio() {
  btvirt -s >"$work/btvirt.log" 2>&1 &
  controllers=$!
  "$tool" radio "$1" "$2" >"$work/radio.log" 2>&1 &
  use_controllers
  alice_address=$("$tool" adapters | awk -v adapter=$alice_adapter '$1 == adapter { print $2 }')
  bob_address=$("$tool" adapters | awk -v adapter=$bob_adapter '$1 == adapter { print $2 }')
}

use_controllers() {
  until_true 20 controllers_there || bad "btvirt made no controllers"
  [ "$way" != bluetoothd ] || until_true 30 bluetoothd_knows || bad "bluetoothd does not see the controllers"
  for adapter in 0 1; do turn_on "$adapter"; done
}

turn_on() {
  # The vault takes the last instance, bluetoothd the first.
  instance=1
  [ "$way" = mgmt ] || instance=5
  "$tool" "$1" on && "$tool" "$1" advertise "$instance" "$filler" || bad "adapter $1 can't be turned on"
}

unplug() {
  kill "$controllers"
  gone
}

# Whoever took them away.
gone() {
  wait "$controllers" 2>/dev/null
  until_true 10 controllers_gone || bad "the controllers did not go"
}

bluetoothd_knows() {
  dbus-send --system --print-reply --dest=org.bluez / org.freedesktop.DBus.ObjectManager.GetManagedObjects | grep -q /org/bluez/hci1
}

start_bluetoothd() {
  mkdir -p /run/dbus /var/lib/bluetooth
  # bluetoothd would open channels of its own to whoever connects, and closing those after the adapter has gone crashes kernels.
  sed -i 's/^#* *ReverseServiceDiscovery *=.*/ReverseServiceDiscovery = false/' /etc/bluetooth/main.conf
  dbus-daemon --system --fork 2>"$work/dbus.log" || bad "there is no bus"
  /usr/libexec/bluetooth/bluetoothd -n >"$work/bluetoothd.log" 2>&1 &
}

# watch NAME: counts what passes on the air, until `watched` ends it and says how much it was.
watch() {
  seen=$work/$1.seen
  "$tool" watch 600 >"$seen" &
  watcher=$!
  until_true 5 grep -q watching "$seen" || bad "the air can't be watched"
}
watched() {
  # What is on its way still counts.
  sleep 0.3
  kill "$watcher"
  wait "$watcher"
  bytes=$(awk '/ bytes in / { print $1 }' "$seen")
  time=$(awk '/ bytes in / { print $7 }' "$seen")
  pauses=$(awk '/ bytes in / { print $(NF - 1) }' "$seen")
}

# What vault says went wrong.
reason() { sed -n 's/^vault: //p' "$work/Alice.err" | head -n 1; }

# json FIELD FILE: a text in what vault says with --json.
json() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\\1/p" "$2" | head -n 1; }
