import Glibc
import PeerAuth
import SecretVault

/// What a user may name as a card: the text itself, a file with it, or a picture of it.
enum CardSource {
  /// Pictures and files larger than this are refused.
  static let byteLimit = 64 << 20
  /// The longest file that is taken for a card's text.
  static let textLimit = 1 << 16

  enum Kind: Equatable { case picture, text, unknown }

  /// The texts that an argument of `peer add` or `scan` stands for: one for a text, one or more for a picture.
  static func texts(_ argument: String) throws -> [String] {
    if isCardText(argument) { return [argument] }
    try expectNoAddress(argument)
    let (bytes, name) = try read(argument)
    return try texts(in: bytes, named: name)
  }

  /// Refuses a place in the network, which says nothing of who answers there.
  private static func expectNoAddress(_ argument: String) throws {
    guard access(argument, F_OK) != 0, (try? PeerText.address(argument)) != nil else { return }
    throw VaultError(
      .usage, "\(argument) is an address, and an address is no key: whoever answers there could be anybody",
      hint: "exchange the pictures that 'vault id --png FILE' makes, and compare the fingerprints")
  }

  /// The bytes of a file, or of standard input for `-`, and what to call it.
  static func read(_ argument: String) throws -> (bytes: [UInt8], name: String) {
    guard argument == "-" else { return (try PublicFile.read(path: argument, limit: byteLimit), argument) }
    return (try PublicFile.read(STDIN_FILENO, limit: byteLimit, name: "standard input"), "standard input")
  }

  static func texts(in bytes: [UInt8], named name: String) throws -> [String] {
    switch kind(of: bytes) {
    case .picture: return try ScanHelper.contents(of: bytes, named: name).map { String(decoding: $0, as: UTF8.self) }
    case .text: return [trimmed(String(decoding: bytes, as: UTF8.self))]
    case .unknown:
      throw VaultError(
        .usage, "\(name) is neither a card, nor a PNG or JPEG picture of one",
        hint: "a card begins with vaultpeer1; a peer prints it with 'vault id --text'")
    }
  }

  static func card(among texts: [String]) throws -> PeerCard {
    let cards = texts.filter { isCardText($0) }
    switch cards.count {
    case 1: return try PeerText.card(cards[0])
    case 0:
      throw VaultError(
        .usage, texts.count == 1 ? "that is no card of a peer" : "none of these \(texts.count) QR codes is a card",
        hint: "a card begins with vaultpeer1; 'vault peer scan' shows what is in a picture")
    default:
      let labels = cards.map { (try? PeerText.card($0).label) ?? "a damaged card" }
      throw VaultError(
        .ambiguous, "there are \(cards.count) cards in this picture: \(labels.joined(separator: ", "))",
        hint: "cut the picture, or take the text of one from 'vault peer scan'")
    }
  }

  /// Whether a text claims to be a card, in either case.
  static func isCardText(_ text: String) -> Bool { text.prefix(10).lowercased() == "vaultpeer1" }

  /// Whether bytes begin like a PNG or JPEG picture.
  static func isPicture(_ bytes: [UInt8]) -> Bool {
    bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) || bytes.starts(with: [0xFF, 0xD8, 0xFF])
  }

  /// Tells pictures and texts apart by their first bytes.
  static func kind(of bytes: [UInt8]) -> Kind {
    if isPicture(bytes) { return .picture }
    guard bytes.count <= textLimit else { return .unknown }
    return isCardText(trimmed(String(decoding: bytes, as: UTF8.self))) ? .text : .unknown
  }

  private static func trimmed(_ text: String) -> String {
    let isSpace: (Character) -> Bool = { $0.isWhitespace || $0 == "\u{FEFF}" }
    return String(text.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
  }
}
