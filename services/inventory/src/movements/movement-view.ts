import { z } from 'zod'
import { LevelView, QuantityView } from '../stock/level-view.ts'
import { MOVEMENT_TYPES, type Movement } from './movement.ts'

const Id = z.int().min(1)

/** A row of the ledger on the wire. */
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
    transferId: Id.nullable().meta({ description: 'Alike in the two rows of a transfer' }),
    reservationId: Id.nullable(),
    actor: z.string().nullable(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'Movement' })

/** What POST /movements answers: the rows that were written, the first one in `id`, and the levels after them. */
export const MovedView = z.object({ id: Id, ids: z.array(Id), levels: z.array(LevelView) }).meta({ id: 'Moved' })

export function movementJson(movement: Movement): string {
  return JSON.stringify(movement)
}
