/// Names of the protocols that are spoken.
enum Namespace {
  static let client = "jabber:client"
  static let streams = "http://etherx.jabber.org/streams"
  static let streamErrors = "urn:ietf:params:xml:ns:xmpp-streams"
  static let stanzaErrors = "urn:ietf:params:xml:ns:xmpp-stanzas"
  static let tls = "urn:ietf:params:xml:ns:xmpp-tls"
  static let sasl = "urn:ietf:params:xml:ns:xmpp-sasl"
  static let bind = "urn:ietf:params:xml:ns:xmpp-bind"
  static let session = "urn:ietf:params:xml:ns:xmpp-session"
  static let roster = "jabber:iq:roster"
  static let register = "jabber:iq:register"
  static let ping = "urn:xmpp:ping"
  static let discoInfo = "http://jabber.org/protocol/disco#info"
  static let receipts = "urn:xmpp:receipts"
  static let hints = "urn:xmpp:hints"
  static let delay = "urn:xmpp:delay"
  static let forward = "urn:xmpp:forward:0"
  static let archive = "urn:xmpp:mam:2"
  static let forms = "jabber:x:data"
  static let resultSet = "http://jabber.org/protocol/rsm"
  /// Parcels of this product: sealed above, opaque here.
  static let parcel = "urn:vault:parcel:1"
}
