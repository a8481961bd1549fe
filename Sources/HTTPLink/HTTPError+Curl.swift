import CCurl
import HTTPRequests

extension HTTPError {
  init(_ code: CURLcode) {
    let reason = curl_easy_strerror(code).map { String(cString: $0) } ?? "error \(code.rawValue)"
    switch code {
    case CURLE_OPERATION_TIMEDOUT: self = .timedOut
    case CURLE_WRITE_ERROR: self = .answerTooLong
    case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT: self = .noResources
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CACERT_BADFILE: self = .untrusted(reason)
    default: self = .unreachable(reason)
    }
  }
}
