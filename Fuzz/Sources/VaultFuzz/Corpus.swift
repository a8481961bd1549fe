import Foundation

/// The inputs that are kept: one folder a target, each file named by what is wrong with it, or `valid`.
enum Corpus {
  /// Runs every file through its target and says which were judged otherwise than their names claim.
  static func replay(_ folder: String) -> Bool {
    var count = 0
    var isRight = true
    for target in FuzzTarget.all {
      let files = (try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(target.name)")) ?? []
      if files.isEmpty {
        print("\(target.name): no inputs")
        isRight = false
      }
      for file in files.sorted() {
        guard let bytes = FileManager.default.contents(atPath: "\(folder)/\(target.name)/\(file)") else { continue }
        let accepted: Bool
        let words: String
        do {
          accepted = try target.run([UInt8](bytes))
          words = accepted ? "accepted" : "refused"
        } catch {
          accepted = false
          words = "refused: \(error)"
        }
        count += 1
        if target.judges && accepted != file.hasPrefix("valid") {
          print("\(target.name)/\(file): \(words)")
          isRight = false
        }
      }
    }
    print("\(count) inputs replayed")
    return isRight
  }

  /// Writes the inputs that can be made, beside those that were found. A file that is there stays as it is.
  static func write(_ folder: String) {
    for sample in prepared({ try Sample.all() }) {
      let path = "\(folder)/\(sample.target)"
      try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      let file = "\(path)/\(sample.name)"
      if FileManager.default.fileExists(atPath: file) { continue }
      guard FileManager.default.createFile(atPath: file, contents: Data(sample.bytes)) else {
        violated("a file can be written: \(file)")
      }
    }
  }
}
