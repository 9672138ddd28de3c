import { mayDo, type OperatorAction } from '@trestle/operators/operator-roles.ts'
import type { InventoryDeps } from '../deps.ts'
import type { Answered } from '../idempotency/answer.ts'
import type { Caller } from '../idempotency/caller.ts'
import type { MovementLine } from '../movements/movement.ts'
import { callMoveStock } from '../movements/movement-repository.ts'
import type { MovedStock } from '../movements/movement-view.ts'
import { auditedLines } from '../operators/audited-values.ts'
import type { OperatorChange } from '../operators/operator-change.ts'
import { runOperatorChange } from '../operators/operator-change-repository.ts'
import { requireAction } from '../operators/require-action.ts'
import { moveStock } from './move-stock.ts'

/** Movements that an operator asks for. */
export interface MoveStockAsOperatorInput {
  readonly change: OperatorChange
  /** Returns the caller. Called after the role was judged, because an operator is refused before a missing key is. */
  readonly toCaller: () => Caller
  readonly lines: readonly MovementLine[]
}

/**
 * Moves stock as `moveStock` does, in one transaction with its entry in the audit log. The types of the lines
 * decide which role may: of several lines the highest role counts (console reference: Routes of inventory).
 * @throws operatorForbidden for an operator who may not make one of the lines; idempotencyKeyMalformed, idempotencyKeyMissing by
 * `toCaller`; and as `moveStock` says productNotFound, locationNotFound, locationInactive, insufficientStock, countBelowReserved,
 * staleQuantity, quantityAboveLimit, keyMismatch, keyRunning, insufficientStockForLine, staleQuantityForLine
 */
export async function moveStockAsOperator(
  { db, lanes, stockMetrics }: Pick<InventoryDeps, 'db' | 'lanes' | 'stockMetrics'>,
  { change, toCaller, lines }: MoveStockAsOperatorInput,
): Promise<Answered<MovedStock>> {
  const action = actionOf(lines)
  requireAction(change.operator.role, action)
  const caller = toCaller()
  const carryOut = () =>
    runOperatorChange(db, change, async (own) => {
      const made = await callMoveStock(own.lanes, caller, lines)
      if (made.verdict !== 'done') return { made, audited: undefined }
      const { id, ids } = made.body
      const productIds = [...new Set(lines.map(({ productId }) => productId))]
      const changes = { ids, lines: auditedLines(lines) }
      return { made, audited: { action, object: { kind: 'movement', id }, productIds, changes } }
    })
  return moveStock({ lanes, stockMetrics }, { caller, lines, carryOut })
}

/** The action of these lines. Of several actions, the first one that needs the highest role. */
function actionOf(lines: readonly MovementLine[]): OperatorAction {
  const actions = lines.map(({ type }) => `stock.${type}` as const)
  return actions.find((action) => !mayDo('support', action)) ?? actions[0] ?? 'stock.receive'
}
