/** An app as the members of a merchant see it. */
export interface AppMember {
  readonly id: string
  readonly name: string | null
  /** Last four characters of its newest good key; null where it has a name, or an operator hid it. */
  readonly keyHint: string | null
  readonly created: Date
}
