/// As in `vault`, with which this is built.
enum Version {
  static let text = "0.1.0"
}
