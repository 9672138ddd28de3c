import { mayDo, type OperatorAction } from '@trestle/operators/operator-roles.ts'
import { z } from 'zod'
import { LevelView, PLACE_NAMES, QUANTITY_MAX, QuantityView } from '../stock/level.ts'

export const LINE_TYPES = ['receive', 'ship', 'adjust', 'count', 'transfer'] as const

/** The types of ledger rows: the types of movements, and the effects of reservations on stock. */
export const MOVEMENT_TYPES = [...LINE_TYPES, 'reserve', 'release', 'expire'] as const

export type MovementType = (typeof MOVEMENT_TYPES)[number]

/** A line of a request. Quantities are whole numbers up to `QUANTITY_MAX`. */
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
  /** The quantity required on hand before the line, at `locationId` or `fromLocationId`. */
  readonly expectedOnHand?: number | undefined
}

/** The effect of a line on the quantity on hand. Exactly one of `onHandDelta` and `counted` is set. */
interface LineEffect {
  readonly locationId: number
  /** The location that receives the quantity of a transfer. */
  readonly toLocationId?: number | undefined
  /** Added to the quantity on hand. */
  readonly onHandDelta?: number
  /** Replaces the quantity on hand. */
  readonly counted?: number
}

/** Returns the effect of a line: the changed levels, and the difference or the new count. */
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

/** The operator's action for these lines. For several actions, the first one that needs the highest role. */
export function actionOf(lines: readonly MovementLine[]): OperatorAction {
  const actions = lines.map(({ type }) => `stock.${type}` as const)
  return actions.find((action) => !mayDo('support', action)) ?? actions[0] ?? 'stock.receive'
}

const Id = z.int().min(1)
const Delta = z.int().min(-QUANTITY_MAX).max(QUANTITY_MAX)

export const MovementView = z
  .object({
    id: Id.meta({ description: 'The id of the row' }),
    productId: Id.meta({ description: 'The id of the product' }),
    locationId: Id.meta({ description: 'The id of the location' }),
    type: z.enum(MOVEMENT_TYPES).meta({ description: 'A type of movement, or what a reservation did to the level' }),
    onHandDelta: Delta.meta({ description: 'By how much the quantity on hand changed' }),
    reservedDelta: Delta.meta({ description: 'By how much the reserved quantity changed' }),
    onHandAfter: QuantityView.meta({ description: 'The quantity on hand afterwards' }),
    reservedAfter: QuantityView.meta({ description: 'The reserved quantity afterwards' }),
    reason: z.string().max(255).nullable().meta({ description: 'Why the stock was moved, as it was sent' }),
    reference: z.string().max(255).nullable().meta({ description: 'A document of the client, as it was sent' }),
    transferId: Id.nullable().meta({ description: 'The id that the two movements of a transfer share' }),
    reservationId: Id.nullable().meta({ description: 'The reservation that the row belongs to' }),
    actor: z
      .string()
      .nullable()
      .meta({ description: 'The sub of the access token, or operator for a command; else null' }),
    createdAt: z.iso.datetime().meta({ description: 'When the stock was moved' }),
  })
  .meta({ id: 'Movement' })

export const ListedMovementView = MovementView.extend(PLACE_NAMES).meta({ id: 'ListedMovement' })

/** A row of the ledger. Quantities are in units of the product. */
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

/** The answer to `POST /movements`: the written rows, with the first row in `id`, and the resulting levels. */
export const MovedView = z
  .object({
    id: Id.meta({ description: 'The id of the first row of the ledger' }),
    ids: z.array(Id).meta({ description: 'The ids of all rows that were written' }),
    levels: z.array(LevelView).meta({ description: 'Every level that the request changed, after it' }),
  })
  .meta({ id: 'Moved' })

export type MovedStock = z.infer<typeof MovedView>

export function movementJson(movement: Movement): string {
  return JSON.stringify(movement)
}
