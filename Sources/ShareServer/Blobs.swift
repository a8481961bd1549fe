import Foundation
import GRDB

// GRDB knows `Data`; everything else here is arrays.

extension [UInt8] {
  var blob: Data { Data(self) }
}

extension Identifier {
  var blob: Data { Data(bytes) }
}

extension Row {
  /// The bytes of a column that is never null.
  func octets(_ column: Int) -> [UInt8] { optionalOctets(column) ?? [] }

  /// The bytes of a column, or nil.
  func optionalOctets(_ column: Int) -> [UInt8]? { (self[column] as Data?).map { Array($0) } }
}
