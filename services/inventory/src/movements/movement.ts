export const LINE_TYPES = ['receive', 'ship', 'adjust', 'count', 'transfer'] as const

/** What a line of a request does, and what happens to reservations. */
export const MOVEMENT_TYPES = [...LINE_TYPES, 'reserve', 'release', 'expire'] as const

export type MovementType = (typeof MOVEMENT_TYPES)[number]

/** One line of a request. Quantities are whole numbers up to `QUANTITY_MAX`. */
export type MovementLine = (
  | {
      readonly type: 'receive' | 'ship'
      readonly productId: number
      readonly locationId: number
      readonly quantity: number
    }
  | { readonly type: 'adjust'; readonly productId: number; readonly locationId: number; readonly delta: number }
  | { readonly type: 'count'; readonly productId: number; readonly locationId: number; readonly quantity: number }
  | {
      readonly type: 'transfer'
      readonly productId: number
      readonly fromLocationId: number
      readonly toLocationId: number
      readonly quantity: number
    }
) & {
  readonly reason?: string | undefined
  readonly reference?: string | undefined
  /** What on_hand must be before the line, where it takes from or counts. */
  readonly expectedOnHand?: number | undefined
}

/** What a line does: `change` grows on_hand of a level, `counted` is what it becomes; one of the two is set. */
export interface LineEffect {
  readonly locationId: number
  /** Where that which leaves the location comes in. */
  readonly toLocationId?: number | undefined
  readonly change?: number
  readonly counted?: number
}

export function effectOf(line: MovementLine): LineEffect {
  switch (line.type) {
    case 'receive':
      return { locationId: line.locationId, change: line.quantity }
    case 'ship':
      return { locationId: line.locationId, change: -line.quantity }
    case 'adjust':
      return { locationId: line.locationId, change: line.delta }
    case 'count':
      return { locationId: line.locationId, counted: line.quantity }
    case 'transfer':
      return { locationId: line.fromLocationId, toLocationId: line.toLocationId, change: -line.quantity }
  }
}

/** A row of the ledger (reference: Ledger rows). */
export interface Movement {
  readonly id: number
  readonly productId: number
  readonly locationId: number
  readonly type: MovementType
  readonly onHandDelta: number
  readonly reservedDelta: number
  readonly onHandAfter: number
  readonly reservedAfter: number
  readonly reason: string | null
  readonly reference: string | null
  readonly transferId: number | null
  readonly reservationId: number | null
  readonly actor: string | null
  readonly createdAt: Date
}
