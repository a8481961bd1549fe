package import Sodium

/// Another program's request to encrypt or decrypt something: a URL of the scheme `coresecret`, after x-callback-url.
///
///     coresecret://x-callback-url/encrypt?plaintext=…&x-success=…
///
/// The content lies in secret memory from here on; everything else in the URL counts as public. See
/// `docs/formats/callback.md`.
package struct CallbackRequest: ~Copyable, Sendable {
  /// What a request asks for.
  package enum Action: String, Hashable, Sendable {
    case encrypt, decrypt
  }

  package static let prefix = "coresecret://x-callback-url/"
  package static let byteLimit = 8 << 20
  /// Most bytes of a description or a file name.
  package static let textByteLimit = 1024

  package let action: Action
  /// What the other program calls itself (`x-source`). Anybody can claim any name.
  package let source: String?
  /// Where answers go.
  package let targets: CallbackTargets
  /// What is to be encrypted, or the encrypted data, decoded.
  package let content: SecretBytes
  /// Name of the file whose content is to be encrypted; nil for text.
  package let fileName: SecretBytes?
  /// Public words about what is to be encrypted.
  package let description: String?
  /// Whether the result is to be kept here too.
  package let isStored: Bool
  /// Whether a password is to be asked for and used.
  package let addsPassword: Bool
  /// log2 of scrypt's N for that password, 15 … 20; nil leaves the choice to the user.
  package let scryptLogarithm: Int?

  /// Reads a request. `targets`, read before by ``CallbackTargets/init(of:)``, can be told of the failure.
  package init(_ url: RawSpan) throws(CallbackError) {
    let (action, queryStart) = try Self.parts(url)
    let query = url.extracting(queryStart..<url.byteCount)
    let parameters = try QueryParameters(query)
    guard let action = Action(rawValue: action) else { throw .unknownAction }
    let isEncryption = action == .encrypt
    let addsPassword = isEncryption ? try Self.flag("addPassword", parameters, query) : false
    let isFile = isEncryption && parameters.contains("filename", in: query)
    let content = try Self.content(
      isEncryption ? "plaintext" : "encryptedData", isEncoded: isFile || !isEncryption, parameters, query)
    let source = try Self.text("x-source", parameters, query)
    let targets = try CallbackTargets(parameters, query)
    let fileName = try Self.fileName(of: action, parameters, query)
    let description = isEncryption ? try Self.text("description", parameters, query) : nil
    let isStored = try Self.flag("store", parameters, query)
    let scryptLogarithm = isEncryption ? try Self.logarithm(parameters, query, isExpected: addsPassword) : nil
    (self.action, self.source, self.targets) = (action, source, targets)
    self.content = content
    self.fileName = fileName
    (self.description, self.isStored) = (description, isStored)
    (self.addsPassword, self.scryptLogarithm) = (addsPassword, scryptLogarithm)
  }

  private static func fileName(
    of action: Action, _ parameters: QueryParameters, _ query: RawSpan
  ) throws(CallbackError) -> SecretBytes? {
    guard action == .encrypt, let name = try parameters.value("filename", in: query) else { return nil }
    guard (1...textByteLimit).contains(name.count) else {
      throw .invalid("filename", rule: "1 to \(textByteLimit) bytes")
    }
    return name
  }

  private static func content(
    _ name: String, isEncoded: Bool, _ parameters: QueryParameters, _ query: RawSpan
  ) throws(CallbackError) -> SecretBytes {
    guard let value = try parameters.value(name, in: query) else { throw .missing(name) }
    return isEncoded ? try decoded(name, value) : value
  }

  /// The action's name, and where the query of a request begins.
  static func parts(_ url: RawSpan) throws(CallbackError) -> (action: String, queryStart: Int) {
    guard url.byteCount <= byteLimit else { throw .tooLong }
    let prefix = Array(Self.prefix.utf8)
    guard url.byteCount >= prefix.count else { throw .otherScheme }
    // Schemes and hosts have no case.
    for (position, expected) in prefix.enumerated() {
      let byte = url.byte(position)
      let isLetter = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
      guard (isLetter ? byte | 0x20 : byte) == expected else { throw .otherScheme }
    }
    var end = prefix.count
    while end < url.byteCount, url.byte(end) != UInt8(ascii: "?") {
      guard end - prefix.count < 32 else { throw .unknownAction }
      end += 1
    }
    let action = url.text(prefix.count..<end)
    return (action, min(end + 1, url.byteCount))
  }

  private static func text(
    _ name: String, _ parameters: QueryParameters, _ query: RawSpan
  ) throws(CallbackError) -> String? {
    guard let bytes = try parameters.value(name, in: query) else { return nil }
    guard bytes.count <= textByteLimit else { throw .invalid(name, rule: "at most \(textByteLimit) bytes") }
    let text = bytes.withUnsafeBytes { String(validating: $0, as: UTF8.self) }
    guard let text, !text.utf8.contains(0) else { throw .invalid(name, rule: "text in UTF-8") }
    return text.isEmpty ? nil : text
  }

  private static func flag(
    _ name: String, _ parameters: QueryParameters, _ query: RawSpan
  ) throws(CallbackError) -> Bool {
    switch try text(name, parameters, query) {
    case nil, "0": return false
    case "1": return true
    default: throw .invalid(name, rule: "0 or 1")
    }
  }

  private static func logarithm(
    _ parameters: QueryParameters, _ query: RawSpan, isExpected: Bool
  ) throws(CallbackError) -> Int? {
    guard let text = try text("scryptN", parameters, query) else { return nil }
    guard isExpected else { throw .invalid("scryptN", rule: "left out unless addPassword is 1") }
    let rule = "a power of two from 32768 to 1048576"
    let isNumber = text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } && !text.hasPrefix("0")
    guard isNumber, text.utf8.count <= 7, let cost = UInt32(text), cost.nonzeroBitCount == 1,
      (1 << 15...1 << 20).contains(cost)
    else { throw .invalid("scryptN", rule: rule) }
    return cost.trailingZeroBitCount
  }

  private static func decoded(
    _ name: String, _ text: borrowing SecretBytes
  ) throws(CallbackError) -> SecretBytes {
    let decoded: SecretBytes?
    do throws(SodiumError) { decoded = try Base64Text.decode(text.bytes) } catch { throw .outOfMemory }
    guard let bytes = consume decoded else { throw .invalid(name, rule: "in base64") }
    return bytes
  }
}

/// Where the answers to a request go. Each may be missing: then nobody is told.
package struct CallbackTargets: Hashable, Sendable {
  /// When it was done.
  package let success: CallbackTarget?
  /// When it failed.
  package let failure: CallbackTarget?
  /// When the user said no.
  package let cancel: CallbackTarget?

  /// The targets of a request that may otherwise be faulty; nil if they are themselves.
  package init?(of url: RawSpan) {
    do throws(CallbackError) {
      let (_, queryStart) = try CallbackRequest.parts(url)
      let query = url.extracting(queryStart..<url.byteCount)
      try self.init(QueryParameters(query), query)
    } catch {
      return nil
    }
  }

  init(_ parameters: QueryParameters, _ query: RawSpan) throws(CallbackError) {
    func target(_ name: String) throws(CallbackError) -> CallbackTarget? {
      guard let value = try parameters.value(name, in: query) else { return nil }
      guard value.count > 0 else { return nil }
      return try CallbackTarget(value.bytes, name: name)
    }
    success = try target("x-success")
    failure = try target("x-error")
    cancel = try target("x-cancel")
  }
}
