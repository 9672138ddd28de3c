import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import { type Answer, answerOf } from '../idempotency/answer.ts'
import { type Caller, type CallerColumns, callerColumns, callerRow } from '../idempotency/caller.ts'
import type { Level } from '../stock/level-view.ts'
import type { MoveRefusal } from '../stock/stock-refusals.ts'
import { effectOf, type MovementLine } from './movement.ts'

/** What was written: the rows of the ledger, and the levels after them. */
export interface MovedStock {
  readonly id: number
  readonly ids: readonly number[]
  readonly levels: readonly Level[]
}

const moveQuery = prepare('move_stock', (p: CallerColumns & { lines: string }) =>
  answerOf<MovedStock, MoveRefusal>(sql`${sql.table('move_stock')}(${callerRow(p)}, ${p.lines}::json)`),
)

/** Carries out the lines of a request in their order, all or none. */
export function callMoveStock(
  lanes: Lanes,
  caller: Caller,
  lines: readonly MovementLine[],
): Promise<Answer<MovedStock, MoveRefusal>> {
  const input = { ...callerColumns(caller), lines: JSON.stringify(lines.map(toRow)) }
  return lanes.write.one(moveQuery, input)
}

/** The row `stock_line`. */
function toRow(line: MovementLine): object {
  const { locationId, toLocationId, change, counted } = effectOf(line)
  const { type, productId, expectedOnHand, reason, reference } = line
  return {
    ...{ type, product_id: productId, location_id: locationId, to_location_id: toLocationId },
    ...{ change, counted, expected: expectedOnHand, reason, reference },
  }
}
