/** An app as the members of a merchant see it. */
export interface AppMember {
  readonly id: string
  readonly name: string | null
  /** Last four characters of its newest good key; null where it has a name, an operator hid it, or others added it. */
  readonly keyHint: string | null
  readonly created: Date
}

/** A person who looks after a merchant, or is invited to. */
export interface UserMember {
  /** Of the membership, if the person was invited: their own is shared by all their merchants. */
  readonly id: string
  /** As the merchant wrote it. */
  readonly email: string
  /** Null until the invitation is accepted. */
  readonly name: string | null
  /** Whether the invitation waits to be accepted. */
  readonly pending: boolean
  readonly created: Date
}
