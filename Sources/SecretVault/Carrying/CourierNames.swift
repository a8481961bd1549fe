import Courier

// Names of the library `Courier`, for files that know the peers' messages as well: some are called the same there, and the library's own name is
// that of its main type.

/// A parcel that could be given to whoever is met.
typealias CarriedOffer = Offer
/// What is said to such an offer.
typealias CarriedReply = Reply
/// The recipient's word that a parcel arrived, as it is passed on.
typealias CarriedReceipt = Receipt
/// What a device says first when it meets another.
typealias CarrierGreeting = Greeting
