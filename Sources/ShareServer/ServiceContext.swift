import Hummingbird
import NIOCore

/// What is known of the connection that a request came over.
struct ServiceContext: InitializableFromSource {
  let channel: any Channel

  init(source: ApplicationRequestContextSource) { channel = source.channel }
}
