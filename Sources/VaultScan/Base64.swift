/// Base64 with padding, on one line (RFC 4648, section 4). For public values only: the table is indexed by the bytes.
func base64(_ bytes: [UInt8]) -> String {
  let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  var text: [UInt8] = []
  text.reserveCapacity((bytes.count + 2) / 3 * 4)
  for start in stride(from: 0, to: bytes.count, by: 3) {
    let group = bytes[start..<min(start + 3, bytes.count)]
    var bits = 0
    for offset in 0..<3 { bits = bits << 8 | (offset < group.count ? Int(group[start + offset]) : 0) }
    for digit in 0..<4 {
      text.append(digit <= group.count ? alphabet[bits >> (18 - 6 * digit) & 63] : UInt8(ascii: "="))
    }
  }
  return String(decoding: text, as: UTF8.self)
}
