/** A person who looks after a merchant, or is invited to. */
export interface UserMember {
  readonly id: string
  readonly email: string
  readonly name: string | null
  /** Whether the invitation waits to be accepted. */
  readonly pending: boolean
  readonly created: Date
}
