import PeerAuth
import SecretVault

/// Cards and addresses as users type and read them.
enum PeerText {
  /// The card in a text, with an error that says what to do.
  static func card(_ text: String) throws -> PeerCard {
    do { return try PeerCard(text: text) } catch {
      throw VaultError(
        .damaged, "this card is damaged: \(words(error))", hint: "copy it whole, or take a new picture of the QR code")
    }
  }

  static func words(_ error: CardError) -> String {
    switch error {
    case .tooLong(let limit): "it is longer than \(limit) characters"
    case .notACard: "it is no card"
    case .mixedCase: "it mixes upper and lower case"
    case .invalidCharacter: "it holds a character that no card has"
    case .wrongChecksum: "a character is wrong or missing"
    case .malformed: "its contents make no sense to this version of vault"
    case .invalidKey(let purpose): "its \(purpose.rawValue) key is no key"
    case .keysNotDistinct: "its keys are not different"
    case .invalidLabel: "its label is too long or holds control characters"
    case .invalidAddress: "an address in it is no address"
    case .tooManyAddresses(let limit): "it has more than \(limit) addresses"
    case .invalidBeaconKey: "its beacon key has the wrong length"
    case .missingSignature: "it is not signed"
    case .wrongSignature: "its signature is wrong"
    case .otherKeys: "it is another peer's card"
    case .sodium: "no memory is left to check it"
    }
  }

  /// One `HOST:PORT`. A port is asked for although there is a usual one: a word alone is more likely a slip.
  static func address(_ text: String) throws -> PeerAddress {
    let mistake = VaultError(
      .usage, "'\(text)' is no address", hint: "write HOST:PORT, such as alice.example.org:4721 or [2001:db8::7]:4721")
    guard SettingKey.endpoint(text) != nil else { throw mistake }
    do { return try PeerAddress(parsing: text) } catch { throw mistake }
  }

  static func addresses(_ texts: [String]) throws -> [PeerAddress] { try texts.map { try address($0) } }

  /// `HOST:PORT`
  static func text(_ address: PeerAddress) -> String { address.description }

  static func list(_ addresses: [PeerAddress]) -> String { addresses.map { text($0) }.joined(separator: ", ") }

  static func json(_ addresses: [PeerAddress]) -> JSONValue { JSONValue(addresses.map { text($0) }) }

  /// The beginning of a fingerprint, for a table; to compare, the whole one is shown.
  static func short(_ fingerprint: String) -> String {
    let groups = fingerprint.split(separator: " ")
    return groups.count > 2 ? groups.prefix(2).joined(separator: " ") + " …" : fingerprint
  }
}
