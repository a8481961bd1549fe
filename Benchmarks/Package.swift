// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that nobody who builds or uses `vault` builds this. `make bench` runs it.
let package = Package(
  name: "Benchmarks",
  dependencies: [
    .package(name: "vault", path: ".."),
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
  ],
  targets: [
    .executableTarget(
      name: "pipeline-bench",
      dependencies: [
        .product(name: "SecretVault", package: "vault"), .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources/PipelineBench"),
    .executableTarget(
      name: "micro-bench",
      dependencies: [
        .product(name: "ShamirKit", package: "vault"), .product(name: "SealedPayload", package: "vault"),
        .product(name: "PeerAuth", package: "vault"),
      ],
      path: "Sources/MicroBench"),
    .executableTarget(
      name: "daemon-load",
      dependencies: [
        .product(name: "SecretVault", package: "vault"), .product(name: "PeerLink", package: "vault"),
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources/DaemonLoad"),
    .executableTarget(
      name: "grouper-bench",
      dependencies: [.product(name: "Grouper", package: "vault"), .product(name: "GroupLink", package: "vault")],
      path: "Sources/GrouperBench"),
    // Parcels over real sessions and a real server, which the tests' code starts.
    .executableTarget(
      name: "courier-latency",
      dependencies: [
        .product(name: "VaultXMPP", package: "vault"), .product(name: "ChatServers", package: "vault"),
        .product(name: "PeerLink", package: "vault"), .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources/CourierLatency"),
    // A thousand people for days: always optimised.
    .executableTarget(
      name: "courier-simulation", dependencies: [.product(name: "Courier", package: "vault")],
      path: "Sources/CourierSimulation", swiftSettings: [.unsafeFlags(["-O"])]),
  ]
)
