/** An app as the members of a merchant see it. */
export interface AppMember {
  readonly id: string
  readonly name: string | null
  /** Last four characters of its newest good key; null where it has a name, an operator hid it, or others added it. */
  readonly keyHint: string | null
  readonly created: Date
}
