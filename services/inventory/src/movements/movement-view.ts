import { z } from 'zod'
import { LevelView, QuantityView } from '../stock/level-view.ts'
import { MOVEMENT_TYPES, type MovementType } from './movement.ts'

const Id = z.int().min(1)

/** A row of the ledger in an answer (reference: Ledger rows). */
export const MovementView = z
  .object({
    id: Id,
    productId: Id,
    locationId: Id,
    type: z.enum(MOVEMENT_TYPES),
    onHandDelta: z.int(),
    reservedDelta: z.int(),
    onHandAfter: QuantityView,
    reservedAfter: QuantityView,
    reason: z.string().nullable(),
    reference: z.string().nullable(),
    transferId: Id.nullable().meta({ description: 'The id that the two movements of a transfer share' }),
    reservationId: Id.nullable(),
    actor: z.string().nullable(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'Movement' })

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
export const MovedView = z.object({ id: Id, ids: z.array(Id), levels: z.array(LevelView) }).meta({ id: 'Moved' })

/** The answer to a movement: the ids of the rows that were written, and the levels afterwards. */
export type MovedStock = z.infer<typeof MovedView>

/** The JSON of a row of the ledger. */
export function movementJson(movement: Movement): string {
  return JSON.stringify(movement)
}
