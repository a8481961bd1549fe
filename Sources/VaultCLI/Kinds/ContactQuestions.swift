import SecretVault
import Sodium

/// A contact asked for line by line on a terminal.
enum ContactQuestions {
  private static let questions: [(property: String, question: String)] = [
    ("FN", "Name: "), ("TEL", "Phone (may be empty): "), ("EMAIL", "E-mail (may be empty): "),
    ("ORG", "Organization (may be empty): "), ("URL", "Web page (may be empty): "), ("NOTE", "Note (may be empty): "),
  ]

  /// A vCard 4.0 of the answers.
  static func card(_ terminal: borrowing Terminal) throws -> SecretBytes {
    var card = try SecretText()
    try card.append("BEGIN:VCARD\r\nVERSION:4.0\r\n")
    for (property, question) in questions {
      let answer = try terminal.shownLine(question)
      if answer.count == 0 {
        guard property != "FN" else { throw VaultError(.usage, "a contact needs a name") }
        continue
      }
      try append(property, answer, to: &card)
    }
    try card.append("END:VCARD\r\n")
    return try card.finish()
  }

  /// Adds a property, with a backslash before what would mean something else (RFC 6350, section 3.4).
  static func append(_ property: String, _ value: borrowing SecretBytes, to card: inout SecretText) throws {
    try card.append(property + ":")
    try value.withUnsafeBytes { bytes in
      for byte in bytes {
        switch byte {
        case UInt8(ascii: "\n"): try card.append("\\n")
        case UInt8(ascii: "\\"), UInt8(ascii: ","), UInt8(ascii: ";"):
          // An address on the web is written as it is.
          if property != "URL" { try card.append("\\") }
          try card.append(byte: byte)
        default: try card.append(byte: byte)
        }
      }
    }
    try card.append("\r\n")
  }
}
