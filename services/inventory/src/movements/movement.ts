import { mayDo, type OperatorAction } from '@trestle/operators/operator-roles.ts'

/** Types of the movements that a client asks for (reference: Movements). */
export const LINE_TYPES = ['receive', 'ship', 'adjust', 'count', 'transfer'] as const

/** Types of the rows of the ledger: the types of movements, and what reservations do to stock. */
export const MOVEMENT_TYPES = [...LINE_TYPES, 'reserve', 'release', 'expire'] as const

/** The type of a row of the ledger (reference: Movements). */
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
  /** The quantity that must be on hand before the line, at `locationId` or `fromLocationId`. */
  readonly expectedOnHand?: number | undefined
}

/** The effect of a line on `onHand` of a level. Exactly one of `onHandDelta` and `counted` is set. */
export interface LineEffect {
  readonly locationId: number
  /** Takes in what leaves the location. */
  readonly toLocationId?: number | undefined
  /** Added to `onHand`. */
  readonly onHandDelta?: number
  /** Replaces `onHand`. */
  readonly counted?: number
}

/** Returns the effect of a line: the levels that it changes, and by how much, or to which count. */
export function effectOf(line: MovementLine): LineEffect {
  switch (line.type) {
    case 'receive':
      return { locationId: line.locationId, onHandDelta: line.quantity }
    case 'ship':
      return { locationId: line.locationId, onHandDelta: -line.quantity }
    case 'adjust':
      return { locationId: line.locationId, onHandDelta: line.delta }
    case 'count':
      return { locationId: line.locationId, counted: line.quantity }
    case 'transfer':
      return { locationId: line.fromLocationId, toLocationId: line.toLocationId, onHandDelta: -line.quantity }
  }
}

/** The action of an operator by these lines. Of several actions, the first one that needs the highest role. */
export function actionOf(lines: readonly MovementLine[]): OperatorAction {
  const actions = lines.map(({ type }) => `stock.${type}` as const)
  return actions.find((action) => !mayDo('support', action)) ?? actions[0] ?? 'stock.receive'
}
