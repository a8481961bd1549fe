import Glibc

/// Bytes in order, of unknown number: a file, a pipe, or what is decoded from one.
protocol ByteInput: AnyObject {
  /// Fills the start of `buffer` and returns how much; 0 at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int
}

extension ByteInput {
  /// Fills as much of `buffer` as there is.
  func fill(_ buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    var done = 0
    while done < buffer.count {
      let count = try read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[done...]))
      guard count > 0 else { break }
      done += count
    }
    return done
  }

  /// The next bytes, at most `limit`: fewer only at the end.
  func bytes(upTo limit: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: limit)
    let count = try bytes.withUnsafeMutableBytes { try fill($0) }
    return Array(bytes.prefix(count))
  }
}

/// An open descriptor, which stays open, or a file, which is closed at the end.
final class DescriptorInput: ByteInput {
  private let descriptor: Int32
  private let name: String
  /// The file, if it is one that was opened here.
  private let file: RegularFile?

  init(_ descriptor: Int32, name: String) {
    self.descriptor = descriptor
    self.name = name
    file = nil
  }

  init(path: String) throws {
    let file = try RegularFile(path: path, hint: "pipe it in with -")
    file.willBeReadThrough()
    (descriptor, name) = (file.descriptor, path)
    self.file = file
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    try readDescriptor(descriptor, name, into: buffer)
  }
}

/// Bytes that were read already, in front of the others.
final class PrefixedInput: ByteInput {
  private var front: ArraySlice<UInt8>
  private let rest: (any ByteInput)?

  init(_ front: [UInt8], _ rest: (any ByteInput)?) {
    self.front = front[...]
    self.rest = rest
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    guard !front.isEmpty else { return try rest?.read(into: buffer) ?? 0 }
    let part = front.prefix(buffer.count)
    buffer.copyBytes(from: part)
    front = front.dropFirst(part.count)
    return part.count
  }
}
