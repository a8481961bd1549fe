package enum RecoveryDestination: Sendable {
  case file(path: String, overwrites: Bool)
  /// Into this folder, under the sanitised original name.
  case folder(path: String, overwrites: Bool)
  /// To an open descriptor such as standard output, as it is verified.
  case descriptor(Int32)

  static func path(of name: String, in folder: String) -> String {
    folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
  }
}
