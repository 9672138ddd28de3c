/** A charge of a card that the merchant has charged before. Of the two sources one is given. */
export interface Charge {
  readonly transactionId?: string | undefined
  readonly cardId?: string | undefined
  readonly currency: string
  /** Minor units. */
  readonly amount: number
  readonly descriptor?: string | undefined
  readonly custom?: object | undefined
  readonly reference?: string | undefined
}
