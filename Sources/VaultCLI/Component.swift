/// Something that the programs consist of, and under which licence it is. Full texts are where it comes from, and at SPDX
/// under the licence's name.
struct Component: Sendable {
  let name: String
  /// The licence's name in the list of SPDX.
  let licence: String
  let holder: String
  /// Where it comes from.
  let home: String

  /// This project, and then what it is built of, the Swift packages first.
  static let all = [
    Component(
      name: "vault", licence: "GPL-3.0-or-later", holder: "the authors of vault", home: "LICENSE in its sources"),
    apple("swift", hasException: true),
    Component(
      name: "GRDB.swift", licence: "MIT", holder: "Gwendal Roué", home: "https://github.com/groue/GRDB.swift"),
    apple("swift-argument-parser", hasException: true), apple("swift-async-algorithms", hasException: true),
    apple("swift-atomics", hasException: true), apple("swift-collections", hasException: true),
    apple("swift-http-types"), apple("swift-log"), apple("swift-nio"),
    apple("swift-nio-extras"), apple("swift-nio-ssl"),
    Component(
      name: "swift-service-lifecycle", licence: "Apache-2.0", holder: "the authors of Swift Service Lifecycle",
      home: "https://github.com/swift-server/swift-service-lifecycle"),
    apple("swift-system", hasException: true),
    Component(
      name: "hummingbird", licence: "Apache-2.0", holder: "the authors of Hummingbird",
      home: "https://github.com/hummingbird-project/hummingbird"),
    Component(name: "libcurl", licence: "curl", holder: "Daniel Stenberg and others", home: "https://curl.se"),
    Component(name: "libexpat", licence: "MIT", holder: "the Expat maintainers", home: "https://libexpat.github.io"),
    Component(
      name: "libhiredis", licence: "BSD-3-Clause", holder: "Salvatore Sanfilippo and others",
      home: "https://github.com/redis/hiredis"),
    Component(
      name: "libisal", licence: "BSD-3-Clause", holder: "Intel Corporation", home: "https://github.com/intel/isa-l"),
    Component(
      name: "libjpeg", licence: "IJG AND BSD-3-Clause AND Zlib", holder: "the Independent JPEG Group and others",
      home: "https://libjpeg-turbo.org"),
    Component(
      name: "libpng", licence: "libpng-2.0", holder: "the PNG Reference Library authors",
      home: "http://www.libpng.org"),
    Component(
      name: "libqrencode", licence: "LGPL-2.1-or-later", holder: "Kentaro Fukuchi",
      home: "https://fukuchi.org/works/qrencode"),
    Component(name: "libsodium", licence: "ISC", holder: "Frank Denis", home: "https://libsodium.org"),
    Component(name: "libsqlite3", licence: "blessing", holder: "nobody (public domain)", home: "https://sqlite.org"),
    Component(
      name: "libssl", licence: "Apache-2.0", holder: "the OpenSSL project's authors", home: "https://openssl.org"),
    Component(
      name: "libstrophe", licence: "MIT OR GPL-3.0-only", holder: "Collecta and others",
      home: "https://strophe.im/libstrophe"),
    Component(
      name: "libzbar", licence: "LGPL-2.1-or-later", holder: "Jeff Brown and others",
      home: "https://github.com/mchehab/zbar"),
  ]

  private static func apple(_ name: String, hasException: Bool = false) -> Component {
    Component(
      name: name, licence: hasException ? "Apache-2.0 WITH Swift-exception" : "Apache-2.0",
      holder: "Apple and the project's authors",
      home: name == "swift" ? "https://swift.org" : "https://github.com/apple/\(name)")
  }

  var json: JSONValue {
    ["name": .string(name), "licence": .string(licence), "holder": .string(holder), "home": .string(home)]
  }
}
