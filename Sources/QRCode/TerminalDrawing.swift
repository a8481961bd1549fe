extension QRSymbol {
  /// The symbol for a text terminal, two modules to a character, each line ended by a newline.
  ///
  /// Every line starts by resetting all attributes and choosing black on white out of the 256-colour cube, which themes
  /// leave alone, and ends by resetting again. So the symbol is dark on light, quiet zone included, on any background.
  /// `quietZone` is the number of light modules around it: four by the standard, two is what scanners get along with,
  /// and is the least drawn. The symbol takes `side + 2 * quietZone` columns and half as many lines, rounded up.
  package func terminal(quietZone: Int = 2) -> String {
    rows(quietZone: quietZone).map { "\u{1b}[0;38;5;16;48;5;231m\($0)\u{1b}[0m\n" }.joined()
  }

  /// The same without colours, for paper: what isn't dark is left as it is.
  package func plain(quietZone: Int = 2) -> String {
    rows(quietZone: quietZone).map { $0 + "\n" }.joined()
  }

  private func rows(quietZone: Int) -> [String] {
    let margin = min(max(quietZone, 2), 16)
    return stride(from: -margin, to: side + margin, by: 2).map { y in
      var text = ""
      for x in -margin..<(side + margin) {
        switch (self[x, y], self[x, y + 1]) {
        case (true, true): text += "█"
        case (true, false): text += "▀"
        case (false, true): text += "▄"
        case (false, false): text += " "
        }
      }
      return text
    }
  }
}
