// swift-tools-version: 6.2
import PackageDescription

// An application of its own: nobody who builds `vault` builds it.
let package = Package(
  name: "account-book",
  dependencies: [
    .package(name: "vault", path: "../.."),
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
    .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
  ],
  targets: [
    .executableTarget(
      name: "AccountBook",
      dependencies: [
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "Grouper", package: "vault"),
      ])
  ]
)
