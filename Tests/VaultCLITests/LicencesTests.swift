import Foundation
import Testing

@testable import VaultCLI

@Suite struct LicencesTests {
  /// What Package.swift names between two words, in each of its lines.
  private func named(behind start: String, before end: String) throws -> [String] {
    var root = URL(filePath: #filePath)
    for _ in 0..<3 { root.deleteLastPathComponent() }
    let text = try String(contentsOf: root.appending(path: "Package.swift"), encoding: .utf8)
    return text.split(separator: "\n").compactMap { line in
      guard let from = line.range(of: start), let to = line[from.upperBound...].range(of: end) else { return nil }
      return String(line[from.upperBound..<to.lowerBound])
    }
  }

  @Test func everyPackageThatIsBuiltInIsNamedWithItsLicence() throws {
    let packages = try named(behind: ".package(url: \"https://github.com/", before: "\"")
    #expect(packages.count > 5)
    for package in packages {
      let name = package.split(separator: "/").last.map(String.init)
      #expect(Component.all.contains { $0.name == name && $0.home.hasSuffix(package) }, "\(package)")
    }
  }

  @Test func everyLibraryOfTheSystemIsNamedWithItsLicence() throws {
    let libraries = try named(behind: ", \"lib", before: "-dev\")").compactMap { $0.split(separator: "\"").last }
    #expect(libraries.count > 5)
    for library in libraries {
      let name = library.hasPrefix("lib") ? String(library) : "lib" + library
      #expect(Component.all.contains { name.hasPrefix($0.name) }, "\(name)")
    }
  }

  @Test func eachPartIsNamedOnceAndWhole() {
    #expect(Set(Component.all.map(\.name)).count == Component.all.count)
    for part in Component.all {
      #expect(![part.name, part.licence, part.holder, part.home].contains(""))
    }
    #expect(Component.all.first?.licence == "GPL-3.0-or-later")
  }
}
