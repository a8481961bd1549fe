// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .enableExperimentalFeature("Lifetimes"),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]

// Pictures are taken apart pixel by pixel, and passwords stretched hash by hash, which takes tens of times longer unoptimised:
// these targets never are.
let optimised = settings + [.unsafeFlags(["-O"])]

// As they are installed, programs have no memory that is writable and executable, nor constants and tables of functions that can be
// written to once they run. Only lld tells constants that are writable from others by their flags.
let hardened: [LinkerSetting] = [
  .unsafeFlags(
    [
      "-use-ld=lld", "-Xlinker", "-z", "-Xlinker", "relro", "-Xlinker", "-z", "-Xlinker", "now",
      "-Xlinker", "-T", "-Xlinker", Context.packageDirectory + "/scripts/sections.ld",
    ], .when(configuration: .release))
]

func library(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func tests(of name: String, _ dependencies: [Target.Dependency] = [], vectors: [String] = []) -> Target {
  // Vectors, and sources in C that tests compile, are read from where they lie, not bundled.
  .testTarget(
    name: name + "Tests", dependencies: [.byName(name: name)] + dependencies, exclude: vectors,
    swiftSettings: settings)
}

func benchmark(
  _ name: String, _ folder: String, _ dependencies: [Target.Dependency], _ settings: [SwiftSetting] = settings
) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies, path: "Benchmarks/Sources/" + folder, swiftSettings: settings)
}

// Flags from pkg-config reach everybody who depends on a library's importer, even through an executable; the module maps'
// own `link` lines reach importers only. Those of the helpers do without.
func system(_ name: String, _ pkgConfig: String?, _ debian: String) -> Target {
  .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([debian])])
}

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let nioHTTPTypes = Target.Dependency.product(name: "NIOHTTPTypes", package: "swift-nio-extras")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let hummingbirdTLS = Target.Dependency.product(name: "HummingbirdTLS", package: "hummingbird")

let package = Package(
  name: "vault",
  products: [
    .executable(name: "vault", targets: ["VaultCLI"]),
    .executable(name: "vault-scan", targets: ["VaultScan"]),
    .executable(name: "vault-net", targets: ["VaultNet"]),
    .executable(name: "vault-server", targets: ["VaultServer"]),
    // For other programs. Everything else is between the targets of this package. Secret memory and digests are Sodium's,
    // errors about bytes are WireCodec's.
    .library(name: "ShamirKit", targets: ["ShamirKit", "Sodium", "WireCodec"]),
    .library(name: "SealedPayload", targets: ["SealedPayload", "Sodium", "WireCodec"]),
    .library(name: "PeerAuth", targets: ["PeerAuth", "Sodium", "WireCodec"]),
    .library(name: "Grouper", targets: ["Grouper", "GrouperHTTP"]),
    // Of the tests: preloaded into `vault` to make its disk fail, and to count.
    .library(name: "FaultInjection", type: .dynamic, targets: ["FaultInjection"]),
    .library(name: "AllocationCount", type: .dynamic, targets: ["AllocationCount"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
    .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
    // Of vault-server alone: nothing of it is built with `vault`.
    .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1", traits: []),
    .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0", traits: []),
    .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
  ],
  targets: [
    // Floor 0: libraries of the system.
    system("CSodium", "libsodium", "libsodium-dev"),
    system("CISAL", "libisal", "libisal-dev"),
    system("CQRencode", "libqrencode", "libqrencode-dev"),
    system("CZBar", nil, "libzbar-dev"),
    system("CPNG", nil, "libpng-dev"),
    system("CJPEG", nil, "libjpeg-dev"),
    system("CCurl", nil, "libcurl4-openssl-dev"),
    system("CHiredis", nil, "libhiredis-dev"),
    // pkg-config's flags for libstrophe are ones that SwiftPM doesn't pass on; the module map links it.
    system("CStrophe", nil, "libstrophe-dev"),
    .target(name: "CShims"),
    .target(
      name: "CVersion",
      cSettings: Context.environment["VAULT_COMMIT"].map { [.define("VAULT_COMMIT", to: "\"\($0)\"")] } ?? []),
    .target(name: "CCurlShims", dependencies: ["CCurl"]),
    .target(name: "CHiredisShims", dependencies: ["CHiredis"]),
    .target(name: "CStropheShims", dependencies: ["CStrophe"]),
    // Of vault-server alone.
    .target(name: "CWipingHeap"),

    // Floor 1: single-purpose tools that know nothing of one another.
    library("Sodium", ["CSodium"]),
    library("WireCodec", []),
    library("QRCode", ["CQRencode"]),
    library("SystemBus", ["CShims"]),
    library("Concurrency", []),
    library("Sandbox", ["CShims"]),

    // Floor 2: the cryptography of the vault, values in and values out.
    library("Courier", ["WireCodec"]),
    library("LocalNames", ["Concurrency", "SystemBus"]),
    library("ShamirKit", ["CISAL", "Sodium", "WireCodec"]),
    library("SealedPayload", ["Sodium", "WireCodec"]),
    library("PeerAuth", ["Concurrency", "Sodium", "WireCodec"]),
    library("CallbackURL", ["Sodium"]),
    library("HTTPRequests", ["Sodium"]),
    .target(name: "XMPPRequests", dependencies: ["CSodium", "Sodium", "Concurrency"], swiftSettings: optimised),

    // Floor 3: messages, bytes between peers, and what is kept.
    library("VaultProtocol", ["PeerAuth", "SealedPayload", "ShamirKit", "Sodium", "WireCodec"]),
    library("Gathering", ["PeerAuth", "Sodium", "WireCodec"]),
    library("AgePlugin", ["PeerAuth", "Sodium"]),
    library("PeerLink", ["PeerAuth", "LocalNames", "SystemBus", "Concurrency", "CShims", nioCore, nioPosix]),
    library(
      "VaultStore", ["Concurrency", "CShims", "Courier", "ShamirKit", "Sodium", "VaultProtocol", "WireCodec", grdb]),
    library("Grouper", ["CShims", "SealedPayload", "ShamirKit", "Sodium", "WireCodec", grdb]),
    library("HTTPLink", ["CCurl", "CCurlShims", "HTTPRequests", "Sodium", "Concurrency"]),
    library("XMPPLink", ["CStrophe", "CStropheShims", "Sodium", "Concurrency", "XMPPRequests"]),
    // What `vault` and vault-net say to each other, and the side of `vault`.
    library("NetLink", ["HTTPRequests", "Sodium", "Concurrency", "WireCodec", "XMPPRequests"]),

    // Floor 4: what a vault does, how groups reach servers, and a gathering over real connections.
    library("GatheringRoom", ["Concurrency", "Gathering", "LocalNames", "PeerAuth"]),
    library("GroupLink", ["Grouper", "HTTPRequests", "Sodium"]),
    // Of other programs: `vault` leaves HTTP to vault-net.
    library("GrouperHTTP", ["GroupLink", "Grouper", "HTTPLink", "HTTPRequests"]),
    library(
      "SecretVault",
      [
        "Concurrency", "Courier", "VaultStore", "VaultProtocol", "PeerAuth", "SealedPayload", "ShamirKit", "Sodium",
        "WireCodec", logging,
      ]),
    // The service that keeps shares for groups, and its program: below are only `Sodium` and `Concurrency`, and no part of
    // `vault` needs them.
    .target(
      name: "ShareServer",
      dependencies: [
        "CHiredis", "CHiredisShims", "Sodium", "Concurrency", grdb, hummingbird, hummingbirdTLS, httpTypes, lifecycle,
        logging, nioCore, nioHTTP1, nioHTTPTypes, nioSSL,
      ],
      // A link to docs/openapi.yaml, which the service serves.
      resources: [.embedInCode("openapi.yaml")], swiftSettings: settings),
    .executableTarget(
      name: "VaultServer",
      dependencies: [
        "CShims", "CWipingHeap", "ShareServer", "Concurrency", argumentParser, lifecycle, logging, unixSignals,
      ],
      swiftSettings: settings, linkerSettings: hardened),

    // Floor 5: a vault's groups.
    library(
      "VaultGroups",
      [
        "GroupLink", "Grouper", "HTTPRequests", "NetLink", "SecretVault", "VaultProtocol", "VaultStore", "Sodium",
        "WireCodec", logging,
      ]),
    // A vault's accounts at XMPP servers.
    library(
      "VaultXMPP",
      ["Concurrency", "NetLink", "SecretVault", "VaultProtocol", "VaultStore", "XMPPRequests", "Sodium", logging]),

    // Floor 6: the daemon of a vault, and the agent in it.
    library(
      "VaultDaemon",
      [
        "CShims", "Concurrency", "LocalNames", "PeerAuth", "PeerLink", "SecretVault", "ShamirKit", "Sodium",
        "SystemBus",
        "VaultGroups", "VaultStore", "VaultXMPP", "WireCodec", lifecycle, logging,
      ]),

    // Floor 7: the programs.
    .executableTarget(
      name: "VaultCLI",
      dependencies: [
        "VaultDaemon", "SecretVault", "VaultGroups", "VaultXMPP", "Grouper", "VaultStore", "VaultProtocol", "Courier",
        "Gathering", "GatheringRoom", "LocalNames", "PeerLink", "PeerAuth", "ShamirKit", "QRCode", "SealedPayload",
        "CallbackURL", "AgePlugin", "Sodium", "Concurrency", "CShims", "CVersion", argumentParser, logging,
      ],
      swiftSettings: settings, linkerSettings: hardened),
    .executableTarget(
      name: "VaultScan", dependencies: ["CZBar", "CPNG", "CJPEG", "CShims", "Sandbox"], swiftSettings: optimised,
      linkerSettings: hardened),

    .executableTarget(
      name: "VaultNet",
      dependencies: [
        "CShims", "HTTPLink", "HTTPRequests", "NetLink", "Sandbox", "Sodium", "WireCodec", "XMPPLink", "XMPPRequests",
      ],
      swiftSettings: settings, linkerSettings: hardened),

    // What several test targets need: looking for secrets in a process's memory.
    .target(name: "MemoryScan", dependencies: ["Sodium"], path: "Tests/MemoryScan", swiftSettings: settings),

    // C that tests load into programs.
    .target(name: "CompiledPreload", path: "Tests/CompiledPreload", swiftSettings: settings),

    // The time of tests: it passes when they say so.
    .target(name: "TestTime", path: "Tests/TestTime", swiftSettings: settings),

    tests(of: "Sodium", vectors: ["Vectors"]),
    tests(of: "WireCodec"),
    tests(of: "QRCode"),
    tests(of: "SystemBus", vectors: ["Vectors"]),
    tests(of: "LocalNames", ["Concurrency", "CShims", "SystemBus"]),
    tests(of: "ShamirKit", ["Sodium", "WireCodec"]),
    tests(of: "SealedPayload", ["Sodium", "WireCodec"]),
    tests(of: "CallbackURL", ["Sodium"]),
    tests(of: "AgePlugin", ["PeerAuth", "Sodium"]),
    tests(of: "Concurrency"),
    tests(of: "PeerAuth", ["Concurrency", "Sodium", "TestTime", "WireCodec"], vectors: ["Vectors"]),
    tests(
      of: "VaultProtocol", ["MemoryScan", "PeerAuth", "ShamirKit", "Sodium", "WireCodec"], vectors: ["Recorded"]),
    tests(of: "Gathering", ["PeerAuth", "Sodium", "WireCodec"], vectors: ["Vectors"]),
    tests(
      of: "GatheringRoom", ["Concurrency", "Gathering", "LocalNames", "PeerAuth", "PeerLink", "Sodium", "TestTime"]),
    tests(
      of: "PeerLink",
      [
        "CShims", "Concurrency", "LocalNames", "PeerAuth", "SystemBus", "Sodium", "TestTime", "WireCodec", nioCore,
      ]),
    tests(of: "Grouper", ["MemoryScan", "ShamirKit", "Sodium", "TestTime", "WireCodec", grdb]),
    // A member's device as a process, to be killed.
    .executableTarget(
      name: "GroupDevice", dependencies: ["GroupLink", "Grouper", "HTTPLink", "Sodium"], path: "Tests/GroupDevice",
      swiftSettings: settings),
    tests(
      of: "GroupLink",
      [
        "ChatServers", "FaultInjection", "GroupDevice", "Grouper", "HTTPLink", "HTTPRequests", "Sodium", "TestTime",
        "Concurrency", "VaultServer",
      ]),
    tests(of: "Courier", ["WireCodec"]),
    // Real servers of XMPP, for the tests of what talks to them.
    .target(
      name: "ChatServers", dependencies: ["Sodium", "XMPPRequests"], path: "Tests/ChatServers", exclude: ["Servers"],
      swiftSettings: settings),
    tests(of: "XMPPLink", ["ChatServers", "MemoryScan", "Sodium", "TestTime", "Concurrency", "XMPPRequests"]),
    // The two processes that a vault and its servers are apart by.
    tests(
      of: "NetLink",
      [
        "CShims", "ChatServers", "CompiledPreload", "Concurrency", "HTTPRequests", "MemoryScan", "Sodium", "VaultNet",
        "WireCodec", "XMPPRequests",
      ], vectors: ["Preload"]),
    tests(of: "VaultStore", ["Concurrency", "Courier", "Sodium", "VaultProtocol", "WireCodec", grdb]),
    tests(
      of: "SecretVault",
      [
        "Concurrency", "MemoryScan", "VaultStore", "VaultProtocol", "PeerAuth", "SealedPayload", "ShamirKit", "Sodium",
        "TestTime", "WireCodec", grdb, logging,
      ]),
    tests(
      of: "VaultGroups",
      [
        "Grouper", "PeerAuth", "SecretVault", "VaultProtocol", "VaultStore", "Sodium", "TestTime", "WireCodec", logging,
      ]),
    tests(
      of: "VaultXMPP",
      [
        "ChatServers", "Courier", "NetLink", "PeerAuth", "SecretVault", "Sodium", "TestTime", "VaultNet",
        "VaultProtocol", "VaultStore", "XMPPLink", "XMPPRequests", logging,
      ]),
    // Spoiled pictures, for the tests of vault-scan and for the table of what it reads.
    .target(
      name: "ScanPictures", dependencies: ["QRCode", "CPNG", "CJPEG"], path: "Tests/ScanPictures",
      swiftSettings: optimised),
    .executableTarget(
      name: "ScanTable", dependencies: ["ScanPictures", "QRCode"], path: "Tests/ScanTable", swiftSettings: settings),
    tests(of: "VaultScan", ["CompiledPreload", "QRCode", "ScanPictures", "CShims"], vectors: ["Preload"]),
    tests(
      of: "VaultDaemon",
      [
        "Concurrency", "LocalNames", "PeerAuth", "PeerLink", "SecretVault", "ShamirKit", "Sodium", "TestTime",
        "VaultStore", "WireCodec", logging,
      ]),
    tests(
      of: "VaultCLI",
      [
        "Concurrency", "Courier", "Gathering", "PeerAuth", "SealedPayload", "SecretVault", "ShamirKit", "Sodium",
        "VaultProtocol", "VaultStore", argumentParser, logging,
      ]),
    .testTarget(
      name: "EndToEndTests",
      dependencies: [
        "VaultCLI", "VaultScan", "VaultNet", "VaultServer", "ChatServers", "FaultInjection", "MemoryScan", "QRCode",
        "SecretVault",
        "VaultStore",
        "VaultProtocol", "PeerLink", "PeerAuth", "ShamirKit", "SystemBus", "Sodium", "WireCodec", "CShims", logging,
        grdb,
      ],
      exclude: ["Budgets", "Homes"], swiftSettings: settings),
    tests(
      of: "ShareServer",
      [grdb, "ChatServers", "MemoryScan", "VaultServer", "FaultInjection", "Sodium", "TestTime", lifecycle, logging]),
    // Comparisons and measurements: built where they are asked for.
    benchmark(
      "pipeline-bench", "PipelineBench", ["SecretVault", "VaultStore", "PeerAuth", "ShamirKit", "Sodium", logging]),
    benchmark("micro-bench", "MicroBench", ["ShamirKit", "SealedPayload", "PeerAuth", "Sodium", "WireCodec"]),
    benchmark(
      "daemon-load", "DaemonLoad",
      ["Concurrency", "SecretVault", "VaultStore", "PeerLink", "PeerAuth", "ShamirKit", "Sodium", logging]),
    benchmark("grouper-bench", "GrouperBench", ["Grouper", "GroupLink", "HTTPLink", "Sodium"]),
    // Parcels over real sessions and a real server, which the tests' code starts.
    benchmark(
      "courier-latency", "CourierLatency",
      [
        "VaultXMPP", "ChatServers", "PeerLink", "PeerAuth", "XMPPLink", "XMPPRequests", "SecretVault", "VaultStore",
        "VaultProtocol",
        "Sodium", logging,
      ]),
    // A thousand people for days: always optimised.
    benchmark("courier-simulation", "CourierSimulation", ["Courier"], optimised),

    .target(name: "FaultInjection", path: "Tests/FaultInjection"),
    // Linked by nobody.
    .target(name: "AllocationCount", path: "Tests/AllocationCount"),
  ]
)
