import type { InventoryDeps } from '../deps.ts'
import { countBelowReserved } from '../errors.ts'
import type { Answer, Answered, Refused } from '../idempotency/answer.ts'
import type { Caller } from '../idempotency/caller.ts'
import { effectOf, type MovementLine } from '../movements/movement.ts'
import { callMoveStock } from '../movements/movement-repository.ts'
import type { MovedStock } from '../movements/movement-view.ts'
import { retryAfterExpiry } from '../reservations/retry-after-expiry.ts'
import { findLevel } from '../stock/level-repository.ts'
import type { Level } from '../stock/level-view.ts'
import { type MoveRefusal, refuseStock } from '../stock/stock-refusals.ts'

/** The lines of a request, and who asks for them. */
export interface MoveStockInput {
  readonly caller: Caller
  readonly lines: readonly MovementLine[]
  /** Carries the lines out in a transaction of its own. Undefined: by their statement alone. */
  readonly carryOut?: () => Promise<Answer<MovedStock, MoveRefusal>>
}

/**
 * Carries out the lines of a request, all or none (reference: Movements). Two requests cannot take the same stock, because
 * PostgreSQL checks each line under the lock of its level. Where too little is available, due reservations expire between two
 * tries, in transactions of their own, so that nobody waits for their levels while a try waits for others.
 * @throws
 * - productNotFound or locationNotFound when a line names a product or a location that does not exist
 * - locationInactive when stock would come into an inactive location
 * - insufficientStock when less is available than leaves; insufficientStockForLine for a later line
 * - countBelowReserved when less is counted than is reserved
 * - staleQuantity when the quantity on hand is not the expected one; staleQuantityForLine for a later line
 * - quantityAboveLimit when more than 10^12 would be on hand
 * - keyMismatch when the Idempotency-Key was used for another request
 * - keyRunning while the first request of the key runs
 */
export async function moveStock(
  { lanes, stockMetrics }: Pick<InventoryDeps, 'lanes' | 'stockMetrics'>,
  { caller, lines, carryOut = () => callMoveStock(lanes, caller, lines) }: MoveStockInput,
): Promise<Answered<MovedStock>> {
  const answer = await retryAfterExpiry({ lanes, stockMetrics }, carryOut)
  if (answer.body === null) return refuseLine(lanes, lines, answer)
  if (answer.verdict === 'done') for (const { type } of lines) stockMetrics.countMovement(type)
  return answer
}

async function refuseLine(
  lanes: InventoryDeps['lanes'],
  lines: readonly MovementLine[],
  answer: Refused<MoveRefusal>,
): Promise<never> {
  const line = lines.length > 1 ? answer.line : null
  const refused = lines[answer.line ?? 0]
  if (answer.verdict === 'insufficient-stock' && refused?.type === 'count') {
    const { available, reserved } = await readLevelNow(lanes, refused)
    throw countBelowReserved({ details: { available, reserved, ...(line === null ? {} : { line }) } })
  }
  const quantity = line && refused ? await readQuantityNow(lanes, refused, answer) : answer.quantity
  refuseStock({ ...answer, line, quantity })
}

/**
 * The quantity for the refusal of a later line. PostgreSQL refused the line after the lines before it, which
 * are undone by now, so the quantity that it saw does not exist.
 */
async function readQuantityNow(
  lanes: InventoryDeps['lanes'],
  line: MovementLine,
  { verdict, quantity }: Refused<MoveRefusal>,
): Promise<number | null> {
  if (quantity === null) return quantity
  const { onHand, available } = await readLevelNow(lanes, line)
  return verdict === 'stale-quantity' ? onHand : available
}

async function readLevelNow(
  lanes: InventoryDeps['lanes'],
  line: MovementLine,
): Promise<Pick<Level, 'onHand' | 'reserved' | 'available'>> {
  const found = await findLevel(lanes, { productId: line.productId, locationId: effectOf(line).locationId })
  return typeof found === 'string' ? { onHand: 0, reserved: 0, available: 0 } : found.level
}
