/// As in `vault`, with which `vault-net` is built. Each says its own first.
package enum NetVersion {
  package static let text = "0.1.0"
}
