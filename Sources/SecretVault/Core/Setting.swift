package struct Setting: Sendable {
  package let key: String
  package let value: String
  package let defaultValue: String
  /// One sentence.
  package let explanation: String
}
