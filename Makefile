# `make help` lists what there is.

PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 600

bindir = $(PREFIX)/bin
libexecdir = $(PREFIX)/libexec
unitdir = $(PREFIX)/lib/systemd/user
systemunitdir = $(PREFIX)/lib/systemd/system
bashdir = $(PREFIX)/share/bash-completion/completions
zshdir = $(PREFIX)/share/zsh/site-functions
fishdir = $(PREFIX)/share/fish/vendor_completions.d
mandir = $(PREFIX)/share/man
desktopdir = $(PREFIX)/share/applications

# Swift may lie outside PATH; the scripts know the usual places.
SWIFT = . scripts/common.sh && find_swift && swift
# `vault --version` names it. Only a release is told, so that nothing else is linked anew with each commit.
COMMIT = VAULT_COMMIT=$$(git describe --always --abbrev=12 --dirty=-changed --match='' 2>/dev/null || echo unknown)
swift_files = Sources Tests Fuzz/Sources/VaultFuzz Package.swift Fuzz/Package.swift Benchmarks Examples
RELEASE = -c release --static-swift-stdlib --disable-local-rpath --product
# The link that SwiftPM keeps to where it builds: known without running it.
release_bin = .build/release

.DEFAULT_GOAL := help
.PHONY: help demo deb test-deb manual bench bench-smoke build release server install-server bench-server bench-grouper bench-courier bench-latency bench-lifecycle examples account-book build-tests test-server test test-xmpp soak test-elsewhere test-thread test-address test-release test-ble test-namespaces bench-ble scan-table crash fuzz fuzz-short model lint format install uninstall clean setup

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'
	@echo
	@echo "  PREFIX=$(PREFIX) and DESTDIR=$(DESTDIR) say where 'make install' puts things."

demo: release ## set everything up, build a release, and watch four peers share and recover a file
	@scripts/demo "$(release_bin)"


bench: release ## compare speed and memory with other programs, for half an hour on a quiet machine
	@scripts/setup python3 age libgfshare-bin ssss
	@$(SWIFT) build $(RELEASE) pipeline-bench
	@$(SWIFT) build $(RELEASE) micro-bench
	@$(SWIFT) build $(RELEASE) daemon-load
	@Benchmarks/compare

bench-smoke: build ## see that the comparisons work; their figures mean nothing
	@scripts/setup python3 ejabberdctl openssl
	@Benchmarks/compare --smoke --vault .build/debug/vault --benchmarks .build/debug
	@Benchmarks/grouper --smoke --programs .build/debug
	@Benchmarks/courier --smoke --program .build/debug/courier-simulation
	@Benchmarks/latency --smoke --program .build/debug/courier-latency
	@Benchmarks/lifecycle --smoke

setup: ## install what the build needs, if it is missing
	@scripts/setup

build: setup ## build everything for debugging
	@$(SWIFT) build

build-tests: setup
	@$(SWIFT) build --build-tests

release: setup ## build vault and its two helpers as they are installed
	@export $(COMMIT); $(SWIFT) build $(RELEASE) vault
	@$(SWIFT) build $(RELEASE) vault-scan
	@$(SWIFT) build $(RELEASE) vault-net

manual: release server ## write the manual pages, out of what the commands say of themselves
	@$(SWIFT) build $(RELEASE) generate-manual
	@scripts/manual "$(release_bin)" "$$(git log -1 --format=%cs 2>/dev/null || date +%F)" .build/manual

deb: setup ## build Debian packages of everything into .build/packages, with their manual pages and licences
	@scripts/setup dpkg-buildpackage dh lintian
	@scripts/deb

test-deb: deb ## install the packages in a Debian of its own, run the demo with them, upgrade and purge them; as root
	@scripts/setup mmdebstrap
	@scripts/test-deb

server: setup ## build vault-server, which keeps messages for groups, as it is installed
	@$(SWIFT) build $(RELEASE) vault-server

test-server: setup ## let schemathesis (from PyPI) ask vault-server everything that docs/openapi.yaml allows, and more
	@scripts/pypi schemathesis==4.32.5
	@$(SWIFT) build --product vault-server
	@scripts/test-server .build/debug

# Two real XMPP servers, started by the tests on loopback with settings of their own, and an independent client from PyPI, or of XMPP_PYTHON.
.PHONY: xmpp-servers
xmpp-servers:
	@scripts/setup prosody ejabberdctl openssl
	@[ -n "$$XMPP_PYTHON" ] || scripts/pypi slixmpp==1.17.0

# The programs that tests start are those that are installed: they begin several times as fast as those built for debugging.
test: xmpp-servers release server build-tests ## run all tests that need neither a virtual machine nor an hour
	@scripts/setup redis-cli valgrind strip python3 systemd-analyze age
	@scripts/pypi pyrage==1.4.0
	@scripts/test "$(release_bin)"

test-xmpp: xmpp-servers release server build-tests ## run those tests that talk over real XMPP servers, Prosody and ejabberd, on loopback
	@scripts/test "$(release_bin)" xmpp

soak: ## run for hours what is too long for every change, or PARTS of it; before a release, and when its subject was touched
	@scripts/soak $(PARTS)

test-elsewhere: xmpp-servers release server build-tests ## run all tests as root and as a plain user on a desktop with all that could disturb them, in a container; as root
	@scripts/setup redis-cli valgrind strip python3 age
	@scripts/pypi pyrage==1.4.0
	@scripts/test-elsewhere "$(release_bin)"
	@scripts/test-elsewhere "$(release_bin)" --filter 'ClipboardTests|EditorTests|JSONTests|VaultCLITests|VaultDaemonTests|VaultStoreTests|PeerLinkTests|VaultScanTests|SystemBusTests|RedisTests'

test-thread: setup xmpp-servers ## run the tests under the thread sanitizer, which finds data races
	@scripts/setup redis-cli
	@scripts/sanitize thread

test-address: setup xmpp-servers ## run the tests under the address sanitizer, which finds wrong uses of memory
	@scripts/setup redis-cli
	@scripts/sanitize address

# In the same folder as the programs, so that nothing is built twice.
EXAMPLES = cp Package.resolved Examples/ && $(SWIFT) build --disable-build-manifest-caching --package-path Examples --scratch-path .build

examples: build ## build the examples of the libraries, run the small ones and look at what they say
	@$(EXAMPLES)
	@Examples/check .build/debug

account-book: examples ## let two devices keep an account book in step over three share servers: the example of Grouper
	@Examples/AccountBook/demo .build/debug

bench-server: server ## measure how many shares a share server takes a second, and its memory with a million of them
	@scripts/setup python3 wrk
	@Benchmarks/server --out docs/benchmarks/server.md

bench-grouper: server ## repeat the experiments of the papers on groups, with thirty share servers
	@scripts/setup python3
	@$(SWIFT) build $(RELEASE) grouper-bench
	@Benchmarks/grouper

bench-courier: setup ## simulate a thousand people who carry parcels, for a quarter of an hour
	@scripts/setup python3
	@$(SWIFT) build $(RELEASE) courier-simulation
	@Benchmarks/courier

bench-latency: setup ## measure how long messages take directly, through ejabberd and by a carrier, for nine minutes
	@scripts/setup ejabberdctl openssl python3
	@$(SWIFT) build $(RELEASE) courier-latency
	@$(SWIFT) build $(RELEASE) vault-net
	@Benchmarks/latency

bench-lifecycle: ## simulate ten years of circles whose people lose devices, for five minutes
	@scripts/setup python3
	@Benchmarks/lifecycle

test-release: release server ## install a release somewhere else, look at what the loader makes of the programs, and run each
	@scripts/test-release

test-ble: build ## run two peers over Bluetooth LE in a virtual machine with two virtual controllers, for a few minutes
	@Bench/ble/run .build/debug/vault

test-namespaces: build ## let three people in networks of their own carry messages for one another, for a few minutes
	@Bench/namespaces/run .build/debug/vault

bench-ble: release ## measure Bluetooth LE there against a channel with nothing above it
	@BLE_LIMIT=$${BLE_LIMIT:-900} Bench/ble/run "$(release_bin)/vault" measure

model: ## check the model of the protocol against the promises of docs/SECURITY.md
	@scripts/setup maude
	@Model/run

fuzz: setup ## fuzz every parser, FUZZ_SECONDS each (by default ten minutes), and keep what is learnt
	@KEEP=1 scripts/fuzz $(FUZZ_SECONDS)

fuzz-short: setup ## fuzz every parser for a second, as every change is
	@scripts/fuzz 1

crash: release server build-tests ## kill and fail vault at every step and at many random instants, attack it by the thousand, for an hour or two
	@VAULT_SOAK=1 scripts/test "$(release_bin)" --filter 'CrashStepTests|CrashInstantTests|SyncOrderTests|HomeDiskTests|EndToEndTests.ParcelTests'
	@VAULT_SOAK=1 scripts/test "$(release_bin)" --no-parallel --filter 'GroupLinkTests.CrashTests|ManyAtOnceTests|FloodTests'

.PHONY: histories
histories: release build-tests ## play a thousand random histories of secrets whose holders change, for half an hour
	@VAULT_SOAK=1 scripts/test "$(release_bin)" --filter 'HistoryTests'

scan-table: setup ## measure what vault-scan and zbarimg (package zbar-tools) read of spoiled pictures
	@scripts/setup zbar-tools
	@$(SWIFT) build -c release --product vault-scan
	@$(SWIFT) build -c release --product ScanTable
	@$(release_bin)/ScanTable "$(release_bin)/vault-scan"

lint: setup ## check the layout and style of the sources
	@$(SWIFT) format lint --strict --parallel --recursive $(swift_files)

format: setup ## put the sources into the layout that lint asks for
	@$(SWIFT) format --in-place --parallel --recursive $(swift_files)

# Nothing is built here, where nearly everybody is root.
install: ## install what `make release` has built: the programs, the service, shell completions and the handler of coresecret: URLs
	@scripts/install "$(release_bin)" "$(DESTDIR)" "$(PREFIX)"

install-server: ## install what `make server` has built, and a systemd unit for it
	@[ -x "$(release_bin)/vault-server" ] || { echo "error: vault-server isn't built: run 'make server' first, as yourself" >&2; exit 1; }
	install -d "$(DESTDIR)$(bindir)" "$(DESTDIR)$(systemunitdir)"
	install -m 755 "$(release_bin)/vault-server" "$(DESTDIR)$(bindir)/vault-server"
	sed 's|@BINDIR@|$(bindir)|' packaging/vault-server.service >"$(DESTDIR)$(systemunitdir)/vault-server.service"
	chmod 644 "$(DESTDIR)$(systemunitdir)/vault-server.service"
	[ ! -d .build/manual ] || { install -d "$(DESTDIR)$(mandir)/man8" && install -m 644 .build/manual/*.8 "$(DESTDIR)$(mandir)/man8/"; }

uninstall: ## remove what install put below PREFIX
	rm -f "$(DESTDIR)$(bindir)/vault-server" "$(DESTDIR)$(systemunitdir)/vault-server.service"
	rm -f "$(DESTDIR)$(bindir)/vault" "$(DESTDIR)$(bindir)/age-plugin-quorum" "$(DESTDIR)$(mandir)/man1/age-plugin-quorum.1" \
	  "$(DESTDIR)$(libexecdir)/vault-scan" "$(DESTDIR)$(libexecdir)/vault-net" \
	  "$(DESTDIR)$(unitdir)/vault.service" \
	  "$(DESTDIR)$(bashdir)/vault" "$(DESTDIR)$(zshdir)/_vault" "$(DESTDIR)$(fishdir)/vault.fish" \
	  "$(DESTDIR)$(desktopdir)/vault-url.desktop" "$(DESTDIR)$(mandir)"/man1/vault.1 "$(DESTDIR)$(mandir)"/man1/vault-*.1 \
	  "$(DESTDIR)$(mandir)/man8/vault-server.8"

clean: ## remove what was built
	rm -rf .build .build-thread .build-address Fuzz/.build Fuzz/Findings
