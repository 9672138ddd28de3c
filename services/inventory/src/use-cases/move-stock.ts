import type { InventoryDeps } from '../deps.ts'
import type { Answered } from '../idempotency/answer.ts'
import type { Caller } from '../idempotency/caller.ts'
import { callMoveStock, type MovedStock } from '../movements/move-repository.ts'
import type { MovementLine } from '../movements/movement.ts'
import { stockRefusal } from '../stock/stock-refusals.ts'

/**
 * Carries out the lines of a request, all or none: two that take the same stock cannot both pass, since it is judged under
 * the lock of the level.
 * @see contract 6
 */
export async function moveStock(
  { lanes, stockMetrics }: Pick<InventoryDeps, 'lanes' | 'stockMetrics'>,
  caller: Caller,
  lines: readonly MovementLine[],
): Promise<Answered<MovedStock>> {
  const answer = await callMoveStock(lanes, caller, lines)
  if (answer.body === null) throw stockRefusal({ ...answer, line: lines.length > 1 ? answer.line : null })
  if (answer.verdict === 'done') for (const { type } of lines) stockMetrics.countMovement(type)
  return answer
}
