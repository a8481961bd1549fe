@testable import VaultScan

extension StrippingPlan {
  /// What is left of the file.
  func apply(to file: [UInt8]) -> [UInt8] {
    pieces.flatMap { piece in
      switch piece {
      case .keep(let range): Array(file[range])
      case .put(let bytes): bytes
      }
    }
  }
}
