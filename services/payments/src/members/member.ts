/** An app in the list of a merchant. */
export interface AppMember {
  readonly id: string
  readonly name: string | null
  /**
   * Last four characters of its newest good key. Null when the app has a name, an operator hid the hint, or another
   * member added the app.
   */
  readonly keyHint: string | null
  readonly created: Date
}

/** A user of a merchant, or somebody who is invited. */
export interface UserMember {
  /** The id of the membership, if the user was invited: the user's own id is shared by all their merchants. */
  readonly id: string
  /** As the merchant typed it. */
  readonly email: string
  /** Null until the invitation is accepted. */
  readonly name: string | null
  /** Whether the invitation is still to be accepted. */
  readonly pending: boolean
  readonly created: Date
}
