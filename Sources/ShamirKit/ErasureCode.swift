import CISAL

/// The matrix of the systematic Reed–Solomon code over GF(2^8) (polynomial 0x11d) that ISA-L calls Cauchy:
/// row r < k is the r-th unit vector, element (r, c) of a row r ≥ k is the inverse of r XOR c. Fragment i is row i−1.
///
/// Every choice of k rows is invertible. Used on ciphertext only: ISA-L's tables are indexed by the data.
enum ErasureCode {
  /// All n·k elements, row by row.
  static func matrix(dataCount: Int, fragmentCount: Int) -> [UInt8] {
    var matrix = [UInt8](repeating: 0, count: fragmentCount * dataCount)
    gf_gen_cauchy1_matrix(&matrix, Int32(fragmentCount), Int32(dataCount))
    return matrix
  }

  /// The inverse of a matrix of `count` rows and columns, or nil if there is none.
  static func inverse(_ matrix: [UInt8], count: Int) -> [UInt8]? {
    var source = matrix
    var inverse = [UInt8](repeating: 0, count: count * count)
    return gf_invert_matrix(&source, &inverse, Int32(count)) == 0 ? inverse : nil
  }

  /// ISA-L's multiplication tables for `rowCount` rows of coefficients.
  static func tables(_ rows: [UInt8], dataCount: Int, rowCount: Int) -> [UInt8] {
    guard rowCount > 0 else { return [] }
    var rows = rows
    var tables = [UInt8](repeating: 0, count: 32 * dataCount * rowCount)
    ec_init_tables(Int32(dataCount), Int32(rowCount), &rows, &tables)
    return tables
  }

  /// Writes one output per row: the linear combinations of the sources with the rows' coefficients.
  static func combine(
    _ sources: [UnsafeRawPointer], into outputs: [UnsafeMutableRawPointer], byteCount: Int, tables: [UInt8]
  ) {
    guard !outputs.isEmpty, byteCount > 0 else { return }
    // ISA-L's parameters lack const; it only reads tables and sources.
    var data = sources.map { Optional(UnsafeMutableRawPointer(mutating: $0).assumingMemoryBound(to: UInt8.self)) }
    var coding = outputs.map { Optional($0.assumingMemoryBound(to: UInt8.self)) }
    tables.withUnsafeBufferPointer { tables in
      ec_encode_data(
        Int32(byteCount), Int32(sources.count), Int32(outputs.count),
        UnsafeMutablePointer(mutating: tables.baseAddress),
        &data, &coding)
    }
  }
}
