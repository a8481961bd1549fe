import GRDB

/// Statements as this module writes them.
extension Database {
  func run(_ sql: String, _ arguments: StatementArguments = []) throws {
    try execute(sql: sql, arguments: arguments)
  }

  /// Whether one row was changed, or went.
  func changes(_ sql: String, _ arguments: StatementArguments) throws -> Bool {
    try run(sql, arguments)
    return changesCount == 1
  }

  func rows(_ sql: String, _ arguments: StatementArguments = []) throws -> [Row] {
    try Row.fetchAll(self, sql: sql, arguments: arguments)
  }

  /// The first row of a statement that is prepared only once: for what every session asks.
  func row(_ sql: String, _ arguments: StatementArguments = []) throws -> Row? {
    try Row.fetchOne(cachedStatement(sql: sql), arguments: arguments)
  }

  /// The same, to be read; `what` is what the row is.
  func stored(_ what: String, _ sql: String, _ arguments: StatementArguments = []) throws -> StoredRow? {
    try row(sql, arguments).map { StoredRow(row: $0, what: what) }
  }

  /// Whether there is a row; `source` is what stands behind FROM.
  func has(_ source: String, _ arguments: StatementArguments = []) throws -> Bool {
    try row("SELECT 1 AS found FROM \(source) LIMIT 1", arguments) != nil
  }

  /// Adds a row with a value for each of the columns. `or` is SQLite's word for what else may be done.
  func insert(
    _ or: String = "", into table: String, _ columns: String, _ values: [(any DatabaseValueConvertible)?]
  ) throws {
    let places = repeatElement("?", count: values.count).joined(separator: ", ")
    try run("INSERT \(or) INTO \(table) (\(columns)) VALUES (\(places))", StatementArguments(values))
  }

  /// Adds a row, or changes the other columns of the one that has the same key.
  func put(
    into table: String, key: String, _ columns: [String], _ values: [(any DatabaseValueConvertible)?]
  ) throws {
    let places = repeatElement("?", count: values.count).joined(separator: ", ")
    let changes = columns.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
    try run(
      """
      INSERT INTO \(table) (\(key), \(columns.joined(separator: ", "))) VALUES (\(places))
      ON CONFLICT (\(key)) DO UPDATE SET \(changes)
      """, StatementArguments(values))
  }
}

/// A condition on the columns of a table, and what stands in it.
struct Condition {
  private(set) var sql = "1"
  private(set) var arguments = StatementArguments()

  mutating func and(_ other: String, _ values: [(any DatabaseValueConvertible)?] = []) {
    sql += " AND \(other)"
    arguments += StatementArguments(values)
  }
}
