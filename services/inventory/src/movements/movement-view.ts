import { z } from 'zod'
import { LevelView, PLACE_NAMES, QUANTITY_MAX, QuantityView } from '../stock/level-view.ts'
import { MOVEMENT_TYPES, type MovementType } from './movement.ts'

const Id = z.int().min(1)
const Delta = z.int().min(-QUANTITY_MAX).max(QUANTITY_MAX)

/** A row of the ledger in an answer (reference: Ledger rows). */
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

/** A row of the ledger in a list, with what `include` asked for. */
export const ListedMovementView = MovementView.extend(PLACE_NAMES).meta({ id: 'ListedMovement' })

/** A row of the ledger, as the database has it. Quantities are units of the product. */
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

/** The answer to POST /movements: the rows that were written, the first one in `id`, and the levels after them. */
export const MovedView = z
  .object({
    id: Id.meta({ description: 'The id of the first row of the ledger' }),
    ids: z.array(Id).meta({ description: 'The ids of all rows that were written' }),
    levels: z.array(LevelView).meta({ description: 'Every level that the request changed, after it' }),
  })
  .meta({ id: 'Moved' })

/** The answer to a movement: the ids of the rows that were written, and the levels afterwards. */
export type MovedStock = z.infer<typeof MovedView>

/** The JSON of a row of the ledger. */
export function movementJson(movement: Movement): string {
  return JSON.stringify(movement)
}
