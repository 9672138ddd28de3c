import type { InventoryDeps } from '../deps.ts'
import type { Answered, Refused } from '../idempotency/answer.ts'
import type { Caller } from '../idempotency/caller.ts'
import { callMoveStock, type MovedStock } from '../movements/move-repository.ts'
import { effectOf, type MovementLine } from '../movements/movement.ts'
import { withDueStock } from '../reservations/with-due-stock.ts'
import { findLevel } from '../stock/level-repository.ts'
import { type MoveRefusal, stockRefusal } from '../stock/stock-refusals.ts'

/**
 * Carries out the lines of a request, all or none (reference: Movements). Two requests cannot both take the same stock: the
 * database judges each line under the lock of its level.
 */
export async function moveStock(
  { lanes, stockMetrics }: Pick<InventoryDeps, 'lanes' | 'stockMetrics'>,
  caller: Caller,
  lines: readonly MovementLine[],
): Promise<Answered<MovedStock>> {
  const answer = await withDueStock({ lanes, stockMetrics }, () => callMoveStock(lanes, caller, lines))
  if (answer.body === null) {
    const line = lines.length > 1 ? answer.line : null
    const quantity = line ? await quantityNow(lanes, lines[line], answer) : answer.quantity
    throw stockRefusal({ ...answer, line, quantity })
  }
  if (answer.verdict === 'done') for (const { type } of lines) stockMetrics.countMovement(type)
  return answer
}

/**
 * The quantity that a refusal of a later line tells. The database refused it after the lines before it, which are undone: what
 * it saw then is not what there is.
 */
async function quantityNow(
  lanes: InventoryDeps['lanes'],
  line: MovementLine | undefined,
  { verdict, quantity }: Refused<MoveRefusal>,
): Promise<number | null> {
  if (line === undefined || quantity === null) return quantity
  const found = await findLevel(lanes, { productId: line.productId, locationId: effectOf(line).locationId })
  if (found.verdict !== 'found') return 0
  return verdict === 'stale-quantity' ? found.level.onHand : found.level.available
}
