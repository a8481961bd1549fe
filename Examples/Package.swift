// swift-tools-version: 6.2
import PackageDescription

// Applications of their own: nobody who builds `vault` builds them. They see what any other program sees of the libraries.
func example(_ name: String, _ products: String...) -> Target {
  .executableTarget(
    name: name, dependencies: ["Support"] + products.map { .product(name: $0, package: "vault") }, path: name)
}

let package = Package(
  name: "vault-examples",
  dependencies: [
    .package(name: "vault", path: ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
    .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
  ],
  targets: [
    // Files and complaints, for the three small ones.
    .target(name: "Support", dependencies: [.product(name: "SealedPayload", package: "vault")], path: "Support"),
    example("split-key", "ShamirKit"),
    example("seal-file", "SealedPayload"),
    example("two-peers", "PeerAuth"),
    .executableTarget(
      name: "AccountBook",
      dependencies: [
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "GRDB", package: "GRDB.swift"), .product(name: "Grouper", package: "vault"),
      ],
      path: "AccountBook/Sources/AccountBook"),
  ]
)
