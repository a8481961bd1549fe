/// A setting, its value and what it means.
package struct Setting: Sendable {
  /// Its name.
  package let key: String
  /// Its value now.
  package let value: String
  /// The value it has when nobody sets it.
  package let defaultValue: String
  /// One sentence.
  package let explanation: String
}
