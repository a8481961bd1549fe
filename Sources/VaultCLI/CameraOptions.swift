import ArgumentParser

/// `--camera` and what belongs to it, for the commands that read QR codes.
struct CameraOptions: ParsableArguments {
  @Flag(help: "Look through a camera instead; the argument, if any, is its device (default: /dev/video0).")
  var camera = false

  @Option(help: ArgumentHelp("With --camera: give up after so long (1 to 3600; default: 60).", valueName: "seconds"))
  var timeout: Int?

  func validate() throws {
    guard camera || timeout == nil else { throw ValidationError("--timeout belongs to --camera") }
    guard (1...3600).contains(timeout ?? 60) else { throw ValidationError("--timeout takes 1 to 3600 seconds") }
  }

  /// The texts in the codes that the camera sees first, after telling the user what to do.
  func texts(device: String?, _ console: Console) throws -> [String] {
    let device = device ?? "/dev/video0"
    let seconds = timeout ?? 60
    console.note(
      "hold the code in front of the camera \(device), filling about half of its view (\(seconds) s; Ctrl-C ends)")
    let contents = try ScanHelper.contents(seenBy: device, seconds: seconds)
    return contents.map { String(decoding: $0, as: UTF8.self) }
  }
}
