/// A number in decimal digits alone: the initialisers of numbers take a sign as well.
package func decimal<Number: FixedWidthInteger>(_ text: some StringProtocol) -> Number? {
  text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Number(text) : nil
}
