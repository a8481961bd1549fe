import CCurl
import CCurlShims
import Glibc
import HTTPRequests
import Sodium

/// One request on its way: libcurl's handle, and all the memory that libcurl reads from until it is done.
///
/// Prepared by who asks, then used by the thread of the connections alone.
final class Transfer: @unchecked Sendable {
  /// Longest wait for a connection, TLS included.
  static let connectSeconds = 10
  /// A transfer that moves fewer bytes a second than this, for as long as its request is patient, counts as broken.
  static let slowest = 64

  let handle: UnsafeMutableRawPointer
  let body: AnswerBuffer
  var continuation: CheckedContinuation<HTTPAnswer, any Error>?
  /// Whoever asked doesn't wait any more.
  var isCancelled = false

  private let authorization: AuthorizationLine?
  private let request: UnsafeMutableRawBufferPointer
  private var texts: [UnsafeMutablePointer<CChar>] = []
  private var lines: [UnsafeMutablePointer<curl_slist>] = []

  /// Takes the request over. With `certificates`, servers' certificates are checked against that file instead of the system's list.
  init(
    _ asked: HTTPRequest, authorization: AuthorizationLine?, certificates: String?
  ) throws(HTTPError) {
    guard let handle = curl_easy_init() else { throw .noResources }
    do { body = try AnswerBuffer(limit: asked.answerLimit, isSecret: asked.hasSecretAnswer) } catch {
      curl_easy_cleanup(handle)
      throw .noResources
    }
    self.handle = handle
    self.authorization = authorization
    request = .allocate(byteCount: max(asked.body?.count ?? 0, 1), alignment: 1)
    if let bytes = asked.body { request.copyBytes(from: bytes) }
    // From here on `deinit` cleans up.
    try prepare(asked, certificates)
  }

  deinit {
    curl_easy_cleanup(handle)
    request.deallocate()
    for text in texts { free(text) }
    for line in lines { line.deallocate() }
  }

  private func prepare(_ asked: HTTPRequest, _ certificates: String?) throws(HTTPError) {
    set(CURLOPT_NOSIGNAL, 1)
    set(CURLOPT_CONNECTTIMEOUT, Self.connectSeconds)
    set(CURLOPT_TIMEOUT_MS, Int(asked.deadline / .milliseconds(1)))
    set(CURLOPT_LOW_SPEED_LIMIT, Self.slowest)
    set(CURLOPT_LOW_SPEED_TIME, Int(asked.patience / .seconds(1)))
    set(CURLOPT_FOLLOWLOCATION, 0)
    try set(CURLOPT_URL, asked.server.description + asked.path)
    try set(CURLOPT_PROTOCOLS_STR, asked.server.isLocal ? "http,https" : "https")
    try set(CURLOPT_CUSTOMREQUEST, asked.method.rawValue)
    try set(CURLOPT_USERAGENT, "vault")
    if asked.server.isLocal { try set(CURLOPT_NOPROXY, "*") }
    if let certificates { try set(CURLOPT_CAINFO, certificates) }
    if let bytes = asked.body {
      set(CURLOPT_POSTFIELDSIZE, bytes.count)
      vault_curl_set_pointer(handle, CURLOPT_POSTFIELDS, request.baseAddress)
    }
    // An empty `Expect:` spares the question whether the body may come.
    for line in asked.headers + ["Expect:"] { try append(line: copy(line)) }
    if let text = authorization?.pointer { append(line: UnsafeMutablePointer(mutating: text)) }
    vault_curl_set_pointer(handle, CURLOPT_HTTPHEADER, lines.first)
    let receiver: @convention(c) (UnsafeMutablePointer<CChar>?, Int, Int, UnsafeMutableRawPointer?) -> Int = {
      bytes, size, count, context in
      guard let bytes, let context else { return 0 }
      let buffer = Unmanaged<AnswerBuffer>.fromOpaque(context).takeUnretainedValue()
      // libcurl's size is always 1; anything but `count` ends the transfer.
      return buffer.append(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : size * count &+ 1
    }
    vault_curl_set_receiver(handle, receiver, Unmanaged.passUnretained(body).toOpaque())
  }

  private func set(_ option: CURLoption, _ value: Int) {
    vault_curl_set_number(handle, option, value)
  }

  private func set(_ option: CURLoption, _ value: String) throws(HTTPError) {
    // libcurl keeps a copy of its own. An option that it doesn't know, or no memory, is refused rather than passed over.
    guard vault_curl_set_pointer(handle, option, try copy(value)) == CURLE_OK else { throw .noResources }
  }

  private func copy(_ text: String) throws(HTTPError) -> UnsafeMutablePointer<CChar> {
    guard let copy = strdup(text) else { throw .noResources }
    texts.append(copy)
    return copy
  }

  private func append(line: UnsafeMutablePointer<CChar>) {
    let node = UnsafeMutablePointer<curl_slist>.allocate(capacity: 1)
    node.initialize(to: curl_slist(data: line, next: nil))
    lines.last?.pointee.next = node
    lines.append(node)
  }

  /// What came of it, once libcurl has finished.
  func outcome(_ result: CURLcode) -> Result<HTTPAnswer, HTTPError> {
    guard result == CURLE_OK else { return .failure(HTTPError(result)) }
    return .success(HTTPAnswer(status: vault_curl_status(handle), retryAfter: retryAfter, body: body))
  }

  private var retryAfter: Int? {
    var header: UnsafeMutablePointer<curl_header>?
    guard curl_easy_header(handle, "Retry-After", 0, UInt32(CURLH_HEADER), -1, &header) == CURLHE_OK, let header
    else { return nil }
    return Int(String(cString: header.pointee.value)).flatMap { (0...86_400).contains($0) ? $0 : nil }
  }
}
