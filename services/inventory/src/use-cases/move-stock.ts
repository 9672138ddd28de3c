import type { InventoryDeps } from '../deps.ts'
import type { Answered, Refused } from '../idempotency/answer.ts'
import type { Caller } from '../idempotency/caller.ts'
import { effectOf, type MovementLine } from '../movements/movement.ts'
import { callMoveStock } from '../movements/movement-repository.ts'
import type { MovedStock } from '../movements/movement-view.ts'
import { retryAfterExpiry } from '../reservations/retry-after-expiry.ts'
import { findLevel } from '../stock/level-repository.ts'
import { type MoveRefusal, refuseStock } from '../stock/stock-refusals.ts'

/**
 * Carries out the lines of a request, all or none (reference: Movements). Two requests cannot take the same stock, because
 * PostgreSQL checks each line under the lock of its level.
 * @throws productNotFound or locationNotFound when a line names none, locationInactive when stock would come into an inactive
 * one, insufficientStock when less is available than leaves, staleQuantity when the quantity on hand is not the expected one,
 * quantityAboveLimit when more than 10^12 would be on hand, keyMismatch when the Idempotency-Key was used for another request,
 * keyRunning while its first request runs. For a later line insufficientStockForLine and staleQuantityForLine
 */
export async function moveStock(
  { lanes, stockMetrics }: Pick<InventoryDeps, 'lanes' | 'stockMetrics'>,
  caller: Caller,
  lines: readonly MovementLine[],
): Promise<Answered<MovedStock>> {
  const answer = await retryAfterExpiry({ lanes, stockMetrics }, () => callMoveStock(lanes, caller, lines))
  if (answer.body === null) {
    const line = lines.length > 1 ? answer.line : null
    const quantity = line ? await quantityNow(lanes, lines[line], answer) : answer.quantity
    refuseStock({ ...answer, line, quantity })
  }
  if (answer.verdict === 'done') for (const { type } of lines) stockMetrics.countMovement(type)
  return answer
}

/**
 * The quantity for the refusal of a later line. PostgreSQL refused the line after the lines before it, which are undone by now, so
 * the quantity that it saw does not exist.
 */
async function quantityNow(
  lanes: InventoryDeps['lanes'],
  line: MovementLine | undefined,
  { verdict, quantity }: Refused<MoveRefusal>,
): Promise<number | null> {
  if (line === undefined || quantity === null) return quantity
  const found = await findLevel(lanes, { productId: line.productId, locationId: effectOf(line).locationId })
  if (typeof found === 'string') return 0
  return verdict === 'stale-quantity' ? found.level.onHand : found.level.available
}
