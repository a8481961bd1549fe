/// The version of `vault` and `vault-scan`, which are built and installed together. The helper's sources have a link to
/// this file.
enum Version {
  static let text = "0.1.0"
}
