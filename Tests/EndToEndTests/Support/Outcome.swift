import Foundation
import Testing

/// How a run of a program ended, and what it wrote.
struct Outcome: Sendable, CustomStringConvertible {
  /// The command line, for messages.
  let command: String
  /// The exit code; 128 and the signal's number after a signal, as a shell says it.
  let status: Int32
  /// Standard output, byte by byte.
  let bytes: [UInt8]
  /// Standard error.
  let complaint: String
  /// How long it took.
  let seconds: Double

  /// Standard output as text.
  var output: String { String(decoding: bytes, as: UTF8.self) }
  /// Standard output without the newline at its end: an id, a path, a card.
  var line: String { output.hasSuffix("\n") ? String(output.dropLast()) : output }
  /// Lines of standard output.
  var lines: [String] { line.isEmpty ? [] : line.components(separatedBy: "\n") }
  /// Lines of standard error.
  var complaints: [String] { complaint.split(separator: "\n").map(String.init) }

  var description: String {
    "`\(command)` ended with \(status)\nstderr: \(complaint.prefix(4000))\nstdout: \(output.prefix(2000))"
  }

  /// Whether the program ended by a trap or a bad access: never right, whatever it was given.
  var crashed: Bool { [132, 133, 134, 135, 136, 139].contains(status) }

  /// Standard output as JSON.
  func json(_ location: SourceLocation = #_sourceLocation) throws -> JSON {
    try JSON(parsing: Data(bytes), location)
  }

  /// The error on standard error as JSON.
  func jsonError(_ location: SourceLocation = #_sourceLocation) throws -> JSON {
    try JSON(parsing: Data(complaint.utf8), location)["error"]
  }
}

/// A JSON document in which missing steps give null rather than an error, so that one expectation says it all.
struct JSON: CustomStringConvertible {
  private let value: Any?

  init(parsing data: Data, _ location: SourceLocation = #_sourceLocation) throws {
    do {
      value = try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
    } catch {
      Issue.record("not JSON: \(String(decoding: data.prefix(500), as: UTF8.self))", sourceLocation: location)
      throw error
    }
  }

  init(_ value: Any?) { self.value = value }

  var description: String { value.map { "\($0)" } ?? "nothing" }

  subscript(_ key: String) -> JSON { JSON((value as? [String: Any])?[key]) }
  subscript(_ index: Int) -> JSON { JSON(array.indices.contains(index) ? array[index].value : nil) }

  var string: String? { value as? String }
  var int: Int? { (value as? NSNumber)?.intValue }
  var bool: Bool? { (value as? NSNumber)?.boolValue }
  var array: [JSON] { (value as? [Any])?.map { JSON($0) } ?? [] }
  var strings: [String] { array.compactMap(\.string) }
  var keys: Set<String> { Set((value as? [String: Any])?.keys.map { $0 } ?? []) }
  var isNull: Bool { value == nil || value is NSNull }
  var isArray: Bool { value is [Any] }

  /// The entries of a list command, whether the list stands alone or in an object.
  func first(where key: String, is text: String) -> JSON {
    array.first { $0[key].string == text } ?? JSON(nil)
  }
}
