import Testing
import WireCodec

@Suite("The writer")
struct WriterTests {
  private func room(_ count: Int, _ body: (inout Writer) throws(WireError) -> Void) throws(WireError) -> [UInt8] {
    try publicBytes(count: count, body)
  }

  @Test("refuses what doesn't fit, whole")
  func capacity() {
    #expect(throws: WireError.capacityExceeded) { try room(0) { w throws(WireError) in try w.u8(1) } }
    #expect(throws: WireError.capacityExceeded) { try room(1) { w throws(WireError) in try w.u16(1) } }
    #expect(throws: WireError.capacityExceeded) { try room(3) { w throws(WireError) in try w.u32(1) } }
    #expect(throws: WireError.capacityExceeded) { try room(7) { w throws(WireError) in try w.u64(1) } }
    #expect(throws: WireError.capacityExceeded) { try room(2) { w throws(WireError) in try w.bytes([1, 2, 3]) } }
    #expect(throws: WireError.capacityExceeded) { try room(2) { w throws(WireError) in try w.bytes16([1]) } }
  }

  @Test("refuses to leave room over")
  func tooLittle() {
    #expect(throws: WireError.capacityExceeded) { try room(2) { w throws(WireError) in try w.u8(1) } }
  }

  @Test("refuses counts that don't fit their width")
  func counts() throws {
    #expect(try room(2) { w throws(WireError) in try w.count16(65_535) } == [0xff, 0xff])
    for count in [-1, 65_536, Int.max] {
      #expect(throws: WireError.limitExceeded(field: "count", limit: 65_535)) {
        try room(2) { w throws(WireError) in try w.count16(count) }
      }
    }
    #expect(try room(4) { w throws(WireError) in try w.count32(Int(UInt32.max)) } == [0xff, 0xff, 0xff, 0xff])
    for count in [-1, Int(UInt32.max) + 1] {
      #expect(throws: WireError.limitExceeded(field: "count", limit: Int(UInt32.max))) {
        try room(4) { w throws(WireError) in try w.count32(count) }
      }
    }
    #expect(throws: WireError.limitExceeded(field: "count", limit: 65_535)) {
      try room(70_002) { w throws(WireError) in try w.bytes16([UInt8](repeating: 0, count: 70_000)) }
    }
  }

  @Test("writes into memory that somebody else owns, behind what is there")
  func foreignMemory() throws {
    var bytes = [UInt8](repeating: 0xee, count: 6)
    try bytes.withUnsafeMutableBytes { buffer in
      var output = OutputRawSpan(buffer: buffer, initializedCount: 1)
      try write(into: &output) { writer throws(WireError) in
        let free = writer.freeCapacity
        #expect(free == 5)
        try writer.u16(0x0102)
      }
      let written = output.finalize(for: buffer)
      #expect(written == 3)
    }
    #expect(bytes == [0xee, 1, 2, 0xee, 0xee, 0xee])
  }
}
