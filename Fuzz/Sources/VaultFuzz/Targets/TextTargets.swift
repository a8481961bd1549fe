import Foundation
import PeerAuth
import Sodium
@testable import SecretVault
@testable import VaultCLI
@testable import VaultScan
@testable import VaultStore

/// What users type, what peers call themselves, and what the scanner's process answers.
enum TextTargets {
  static let all = [
    FuzzTarget("setting", upTo: 5000) { bytes in
      var tape = Tape(bytes)
      let key = SettingKey.allCases[tape.number(below: SettingKey.allCases.count)]
      let value = String(decoding: tape.remainder(), as: UTF8.self)
      try key.validate(value)
      switch key {
      case .listen:
        let endpoint = SettingKey.endpoint(value)
        require(
          value == SettingKey.off || endpoint.map { (0...65535).contains($0.port) && !$0.host.isEmpty } == true,
          "a place to listen at")
      case .quotaBytes: require(SettingKey.byteCount(value) != nil, "a number of bytes")
      case .quotaShares: require(Int(value) != nil, "a number of shares")
      case .bleAdapter:
        let isNamed = value == "all" || value.hasPrefix("hci")
        require(isNamed || value.utf8.count == 17, "adapters have a name or an address")
      case .bleLimit: require(SettingKey.byteCount(value) != nil, "a number of bytes")
      case .carryBytes, .carryDay, .carryPeer:
        require(SettingKey.byteCount(value).map { $0 <= 1 << 40 } == true, "a number of bytes")
      case .carryBattery: require(Int(value).map { (0...100).contains($0) } == true, "a charge")
      case .carryFairShare: require(value == "off" || SettingKey.fairShare(value) != nil, "a share that is fair")
      case .keepFree:
        require(value == SettingKey.automatic || SettingKey.byteCount(value) != nil, "a number of bytes, or none named")
      case .introductions, .tellHolders, .confirmSharing, .lan, .ble, .pigeonsOnly, .readReceipts, .carry:
        require(value == "on" || value == "off", "yes or no")
      case .confirmTime:
        let time = DurationText.milliseconds(value)
        require(time.map { DurationText.milliseconds(DurationText.text($0)) == $0 } == true, "a time reads itself")
      case .releasePolicy:
        let policy = ReleasePolicy(value)
        require(policy != nil && ReleasePolicy(policy?.text ?? "") == policy, "a policy reads itself")
      case .releaseLimit: require(Int(value).map { $0 >= 0 } == true, "a number of secrets")
      case .checkInterval:
        let interval = SettingKey.interval(value)
        require(
          value == "off" || interval.map { (60_000...31_536_000_000).contains($0) } == true, "a time between checks")
      case .agentTimeout:
        require(SettingKey.milliseconds(value).map { $0 >= 0 && $0 <= 2_592_000_000 } == true, "a time")
      case .clipboardSeconds: require((1...3600).contains(Int(value) ?? 0), "a number of seconds")
      case .notifyCommand: require(value.utf8.count <= 4096, "a command keeps to its limit")
      }
      return true
    },
    FuzzTarget("peer-address", upTo: 400) { bytes in
      let address = try PeerText.address(String(decoding: bytes, as: UTF8.self))
      let again = try? PeerText.address(PeerText.text(address))
      require(again == address && address.port > 0, "an address reads itself")
      return true
    },
    FuzzTarget("card-file", upTo: 5000) { bytes in
      let kind = CardSource.kind(of: bytes)
      guard kind == .text else { return false }
      let texts = try CardSource.texts(in: bytes, named: "file")
      require(texts.count == 1 && CardSource.isCardText(texts[0]), "a card's file holds a card's text")
      _ = try PeerText.card(texts[0])
      return true
    },
    FuzzTarget("recovery-kit-page", upTo: 5000) { bytes in
      let kit = try RecoveryKit.parse(page: String(decoding: bytes, as: UTF8.self))
      for text in [try kit.text(), try kit.qrText(), try kit.lines().joined(separator: "\n")] {
        require((try? RecoveryKit.parse(page: text)) == kit, "a recovery kit's text is read as the kit")
      }
      return true
    },
    FuzzTarget("scan-answer", upTo: 5000) { bytes in
      let contents = try ScanHelper.parse(bytes)
      let again = contents.map { "qr \($0.count) \(base64($0))\n" }.joined()
      require((try? ScanHelper.parse(Array(again.utf8))) == contents, "what the scanner says is read as it was meant")
      return !contents.isEmpty
    },
    FuzzTarget("stripping-answer", upTo: 5000) { bytes in
      let size: UInt64 = 1000
      let file = try StrippedFile(lines: bytes, byteCount: size)
      var (end, put) = (0 as UInt64, 0)
      for piece in file.pieces {
        switch piece {
        case .range(let offset, let count):
          require(offset >= end && count > 0 && offset + count <= size, "pieces are of the file, in order")
          end = offset + count
        case .bytes(let bytes): put += bytes.count
        }
      }
      require(end > 0 && put <= 256, "a little is put to what is kept")
      return true
    },
    FuzzTarget("base64", upTo: 3000) { bytes in
      require(Base64Text.decodePublic(base64(bytes), limit: bytes.count) == bytes, "both sides of the scanner agree")
      guard let decoded = try Base64Text.decodePublic(bytes.span.bytes) else { return false }
      require(Array(base64(decoded).utf8) == bytes, "base64 has one form")
      return true
    },
    FuzzTarget("vcard", upTo: 5000) { bytes in
      let card = try VCard(bytes.span.bytes)
      require(card.properties.count <= VCard.propertyLimit, "a card keeps to its limit")
      for property in card.properties {
        require(!property.name.isEmpty && property.name.utf8.count <= VCard.nameByteLimit, "a property has a name")
        require(card.value(of: property).byteCount == property.value.count, "a value lies in the card")
        require(card.parameters(of: property).byteCount == property.parameters.count, "parameters lie in the card")
        let plain = try card.plainValue(of: property)
        require(plain.count <= 2 * property.value.count, "a value is not much longer for people")
      }
      return true
    },
    FuzzTarget("assuan-line", upTo: 1200) { bytes in
      let line = try AssuanLine(bytes.span.bytes)
      require(bytes.count <= AssuanLine.byteLimit, "a line keeps to its limit")
      guard line == .data else { return true }
      var text = try SecretText()
      try AssuanLine.append(dataOf: bytes.span.bytes, to: &text)
      require(text.count <= bytes.count - 2, "what is decoded is no longer than its line")
      return true
    },
    FuzzTarget("clipboard-note", upTo: 600) { bytes in
      guard let record = ClipboardRecord(bytes) else { return false }
      require(record.bytes == bytes, "a note has one form")
      return true
    },
    FuzzTarget("secret-text", upTo: 3000, judges: false) { bytes in
      var json = try SecretText(capacity: 16)
      try json.append(json: bytes.span.bytes)
      let written = try json.finish()
      let usual = JSONValue.string(String(decoding: bytes, as: UTF8.self)).text
      let same = written.withUnsafeBytes { $0.elementsEqual(usual.utf8) }
      require(same, "secret text is written as any other")
      return true
    },
    FuzzTarget("printable", upTo: 3000, judges: false) { bytes in
      var tape = Tape(bytes)
      let limit = tape.number(below: 5000)
      let text = String(decoding: tape.remainder(), as: UTF8.self)
      let shown = Printable.escape(text, limit: limit)
      require(Printable.escape(shown, limit: .max) == shown, "what is shown is harmless")
      require(shown.unicodeScalars.count <= 12 * limit + 1, "what is shown keeps to its limit")
      require(Printable.columns(shown) >= 0, "columns can be counted")
      let json = JSONValue.object([JSONValue.Member(key: text, value: .string(text))]).text
      require(Printable.escape(json, limit: .max) == json, "a document is harmless")
      let quoted = Printable.quoted(text)
      let quotes = quoted.unicodeScalars.count { $0.properties.isQuotationMark && $0 != "'" }
      require(quotes == 2, "only our quotes end what is quoted")
      require(!quoted.contains("  ") && quoted.unicodeScalars.count <= 12 * 64 + 3, "what is quoted is short")
      let read = try? JSONDecoder().decode([String: String].self, from: Data(json.utf8))
      require(
        read?.count == 1 && read?.first?.key.utf8.elementsEqual(text.utf8) == true
          && read?.first?.value.utf8.elementsEqual(text.utf8) == true, "a document is read as it was meant")
      return true
    },
    FuzzTarget("shell-word", upTo: 600, judges: false) { bytes in
      let text = String(decoding: bytes, as: UTF8.self)
      let quoted = shellQuoted(text)
      let isGuarded = quoted.hasPrefix("-- ")
      require(word(isGuarded ? String(quoted.dropFirst(3)) : quoted) == Array(text.utf8), "a quoted name is one word")
      require(isGuarded == (text.utf8.first == UInt8(ascii: "-")), "a quoted name is no option")
      require(word(quotedForShell(text)) == Array(text.utf8), "a quoted path is one word")
      return true
    },
    FuzzTarget("path", upTo: 600) { bytes in
      let path = String(decoding: bytes, as: UTF8.self)
      let slash = UInt8(ascii: "/")
      let name = VaultCore.fileName(of: path)
      require(!name.utf8.contains(slash) || path.utf8.allSatisfy { $0 == slash }, "a file's name has no folders")
      let split = try SplitPath(path)
      require(!split.name.utf8.contains(slash) && !split.name.isEmpty, "a name has no folders")
      let joined = "\(split.folder)/\(split.name)"
      let isWhole = [path, "./\(path)", "/\(path)"].contains { $0.utf8.elementsEqual(joined.utf8) }
      require(isWhole, "a path's parts are the path")
      return true
    },
    FuzzTarget("peer-name", upTo: 1200, judges: false) { bytes in
      let name = String(decoding: bytes, as: UTF8.self)
      let skeleton = PeerName.skeleton(name)
      require(PeerName.isBlank(name) == skeleton.isEmpty, "a blank name has nothing to see")
      require(PeerName.skeleton(skeleton).utf8.elementsEqual(skeleton.utf8), "a skeleton stays as it is")
      return true
    },
    FuzzTarget("measures", upTo: 60, judges: false) { bytes in
      var tape = Tape(bytes)
      let number = tape.u64()
      let other = tape.u64()
      let real = Double(bitPattern: number)
      let texts = [
        Measures.size(number), Measures.rate(real), Measures.clock(real), Measures.milliseconds(real),
        Measures.ago(Int64(bitPattern: number), now: Int64(bitPattern: other)),
        Measures.decimal(real, digits: Int(tape.byte() % 4)), JSONValue.decimal(real).text, JSONValue(number).text,
        Timestamp.day(Int64(bitPattern: number)),
      ]
      require(texts.allSatisfy { !$0.isEmpty && $0.utf8.count < 60 }, "every measure has a word")
      return true
    },
  ]

  /// The one word that a shell makes of a text of quotes, escaped quotes and plain letters; nil if it makes anything else.
  private static func word(_ text: String) -> [UInt8]? {
    let special = Set(" \t\n|&;<>()$`\"*?[]#~=%{}!^".utf8)
    var word: [UInt8] = []
    var isQuoted = false
    var isEscaped = false
    for byte in text.utf8 {
      switch byte {
      case _ where isEscaped:
        word.append(byte)
        isEscaped = false
      case UInt8(ascii: "'"): isQuoted.toggle()
      case _ where isQuoted: word.append(byte)
      case UInt8(ascii: "\\"): isEscaped = true
      case _ where special.contains(byte): return nil
      default: word.append(byte)
      }
    }
    let isOption = text.utf8.first == UInt8(ascii: "-")
    return isQuoted || isEscaped || isOption || text.isEmpty ? nil : word
  }
}
