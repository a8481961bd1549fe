/// The version of `vault` and its helpers, which are built and installed together and each have a file like this one:
/// `VersionTests` compares them.
enum Version {
  static let text = "0.1.0"
}
