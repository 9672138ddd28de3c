import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'

/** A change of a merchant's balance that no card and no bank has caused. */
export interface Adjustment {
  readonly merchantId: string
  /** Minor units of the merchant's currency; negative to its loss. */
  readonly amount: number
  /** What the line says. */
  readonly text: string
}

/** The line that was booked, and the balance after it. */
export interface BookedAdjustment {
  readonly lineId: string
  readonly balance: bigint
}

const adjustQuery = prepare(
  'adjust',
  (p: Adjustment) => sql<BookedAdjustment>`
    SELECT line_id AS "lineId", balance FROM ${sql.table('adjust')}(${p.merchantId}, ${p.amount}, ${p.text})`,
)

/** Books an adjustment with a line. Undefined when there is no such merchant. */
export function callAdjust(lanes: Lanes, adjustment: Adjustment): Promise<BookedAdjustment | undefined> {
  return lanes.write.first(adjustQuery, adjustment)
}
