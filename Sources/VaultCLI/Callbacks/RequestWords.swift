import CallbackURL
import SecretVault

/// What the user is told and asked about another program's request. Its own words come quoted and cut, so that they can't
/// stand for anything that is said here; who gets the answer, and what is kept, is said last, where the yes is typed.
enum RequestWords {
  /// The line before the question.
  static func announcement(_ request: borrowing CallbackRequest) -> String {
    let who = request.source.map { "a program that calls itself \(Printable.quoted($0))" } ?? "another program"
    let verb = request.action == .encrypt ? "encrypt" : "decrypt"
    var what = Measures.count(request.content.count, "byte")
    if let description = request.description { what += ", described as \(Printable.quoted(description))" }
    if request.isStored { what += ", and to keep the item here" }
    return "\(who) asks to \(verb) \(what); \(places(request.targets))"
  }

  static func encryption(_ request: borrowing CallbackRequest) -> String {
    let receiver = request.targets.success.map { "goes to \($0.receiver)" } ?? "goes to nobody"
    return "Encrypt under which key? The encrypted data \(receiver)\(request.isStored ? " and is kept here too" : "")"
  }

  static func decryption(_ request: borrowing CallbackRequest, _ key: SecretSummary) -> String {
    let receiver = request.targets.success?.receiver ?? "nobody"
    let keeping = request.isStored ? ", keep the item here," : ""
    return "Decrypt it with the key \(self.key(key))\(keeping) and hand the plaintext to \(receiver) now?"
  }

  /// A key by what tells it from others: any peer can deal one of the same name.
  static func key(_ key: SecretSummary) -> String {
    let name = key.description.map { Printable.quoted($0) } ?? "without a name"
    let dealer = key.origin == .dealt ? key.dealer : Printable.quoted(key.dealer)
    return "\(name) (\(key.id.prefix(12)), shared by \(dealer))"
  }

  private static func places(_ targets: CallbackTargets) -> String {
    let answer = targets.success?.receiver
    var others: [String] = []
    if let failure = targets.failure?.receiver, failure != answer { others.append("of a failure at \(failure)") }
    if let cancel = targets.cancel?.receiver, cancel != answer { others.append("of a no at \(cancel)") }
    let news = others.joined(separator: " and ")
    guard let answer else { return "it wants no answer" + (others.isEmpty ? "" : ", but to be told \(news)") }
    return "the answer goes to \(answer)" + (others.isEmpty ? "" : ", and it wants to be told \(news)")
  }
}
