/** A key of an app, without the key. */
export interface AppKey {
  readonly id: string
  /** Its last four characters. */
  readonly hint: string
  /** Null: no restriction. */
  readonly scopes: readonly string[] | null
  readonly expires: Date | null
  /** Some minutes old at most. */
  readonly lastUsed: Date | null
  readonly created: Date
}
