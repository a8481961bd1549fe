// swift-tools-version: 6.2
import PackageDescription

// The fuzzer is a package of its own, so that nobody who builds `vault` pays for it. Its targets are the parent's
// sources, reached by links, built anew with coverage and the address sanitizer. scripts/fuzz builds and runs it: the
// linker needs libFuzzer's archive, whose place only the compiler knows.
let settings: [SwiftSetting] = [
  .enableExperimentalFeature("Lifetimes"),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .unsafeFlags(["-O", "-sanitize=address", "-sanitize=fuzzer", "-parse-as-library"]),
]

func library(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")

let package = Package(
  name: "vault-fuzz",
  dependencies: [
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
  ],
  targets: [
    .systemLibrary(name: "CSodium", pkgConfig: "libsodium"),
    .systemLibrary(name: "CISAL", pkgConfig: "libisal"),
    .systemLibrary(name: "CPNG", pkgConfig: "libpng"),
    .systemLibrary(name: "CJPEG"),
    .systemLibrary(name: "CZBar"),
    .target(name: "CShims"),

    library("Sodium", ["CSodium"]),
    library("WireCodec", []),
    library("Concurrency", []),
    library("Courier", ["WireCodec"]),
    library("SystemBus", ["CShims"]),
    // Of what is said on the local network, the messages.
    library("LocalNames", []),
    library("ShamirKit", ["CISAL", "Sodium", "WireCodec"]),
    library("SealedPayload", ["Sodium", "WireCodec"]),
    library("PeerAuth", ["Concurrency", "Sodium", "WireCodec"]),
    library("Gathering", ["PeerAuth", "Sodium", "WireCodec"]),
    library("CallbackURL", ["Sodium"]),
    library("AgePlugin", ["PeerAuth", "Sodium"]),
    library("VaultProtocol", ["PeerAuth", "SealedPayload", "ShamirKit", "Sodium", "WireCodec"]),
    library(
      "VaultStore", ["Concurrency", "CShims", "Courier", "ShamirKit", "Sodium", "VaultProtocol", "WireCodec", grdb]),
    library("Grouper", ["CShims", "SealedPayload", "ShamirKit", "Sodium", "WireCodec", grdb]),
    library(
      "SecretVault",
      [
        "Concurrency", "Courier", "VaultStore", "VaultProtocol", "PeerAuth", "SealedPayload", "ShamirKit", "Sodium",
        "WireCodec", logging,
      ]),

    // Of the two programs, and of what carries bytes between peers, only the files that parse, and what those need.
    library("PeerLink", ["PeerAuth"]),
    library("VaultDaemon", ["Concurrency", "SecretVault", "ShamirKit", "Sodium", "WireCodec"]),
    library(
      "VaultCLI", ["Concurrency", "VaultDaemon", "SecretVault", "VaultStore", "VaultProtocol", "PeerAuth", "Sodium"]),
    library("VaultScan", ["CZBar", "CPNG", "CJPEG"]),

    // Of a vault's groups, the files that parse letters and texts.
    library("VaultGroups", ["Grouper", "WireCodec"]),

    // Of the service, the files that parse requests.
    library("ShareServer", ["Sodium", grdb]),
    // Of its clients, the files that parse answers.
    library("GroupLink", ["Grouper", "Sodium"]),

    // Of what talks to XMPP servers, the files that read stanzas, addresses and moments.
    library("XMPPRequests", ["CSodium", "Sodium", "Concurrency"]),
    library("XMPPLink", ["Sodium", "XMPPRequests"]),
    library("VaultXMPP", []),

    // Of what `vault` and vault-net say to each other, the messages.
    library("HTTPRequests", ["Sodium"]),
    library("NetLink", ["HTTPRequests", "Sodium", "WireCodec", "XMPPRequests"]),

    .target(name: "CFuzzer"),
    .executableTarget(
      name: "VaultFuzz",
      dependencies: [
        "VaultCLI", "VaultDaemon", "VaultScan", "SecretVault", "VaultStore", "VaultProtocol", "PeerAuth", "Gathering",
        "SealedPayload", "ShamirKit", "CallbackURL", "AgePlugin", "Courier", "Grouper", "GroupLink", "HTTPRequests",
        "NetLink",
        "VaultGroups", "VaultXMPP", "XMPPLink", "XMPPRequests", "LocalNames", "PeerLink", "ShareServer", "SystemBus",
        "Sodium", "WireCodec", "CPNG", "CJPEG", "CFuzzer", grdb,
      ],
      swiftSettings: settings,
      linkerSettings: [.unsafeFlags(["-sanitize=address"]), .linkedLibrary("stdc++")]),
  ]
)
