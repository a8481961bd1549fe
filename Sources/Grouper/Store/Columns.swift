import Foundation
import GRDB

/// Numbers and names as they lie in the tables, which are strict: a column has the type that it was made with.
extension Row {
  func bytes(_ column: String) -> [UInt8] {
    let data: Data = self[column]
    return [UInt8](data)
  }

  func number(_ column: String) -> UInt64 {
    let number: Int64 = self[column]
    return UInt64(bitPattern: number)
  }

  func numberIfAny(_ column: String) -> UInt64? {
    let number: Int64? = self[column]
    return number.map { UInt64(bitPattern: $0) }
  }

  func epoch(_ column: String) -> UInt32 { UInt32(truncatingIfNeeded: number(column)) }

  /// Throws ``GroupError/damaged(_:)`` with `what` if it is no name.
  func name<Kind>(_ column: String, _ what: String) throws(GroupError) -> Identifier<Kind> {
    guard let name = Identifier<Kind>(bytes(column)) else { throw .damaged(what) }
    return name
  }

  func stream(_ column: String, _ what: String) throws(GroupError) -> StreamID {
    guard let stream = StreamID(bytes(column)) else { throw .damaged(what) }
    return stream
  }
}

extension Identifier {
  var column: Data { Data(bytes) }
}

extension StreamID {
  var column: Data { Data(bytes) }
}

extension UInt64 {
  var column: Int64 { Int64(clamping: self) }
}

func octets(_ number: UInt64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
