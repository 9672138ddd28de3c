import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import { type Judged, splitVerdict, type Verdict } from '../access/admit.ts'
import { type CallerColumns, callerRow } from '../access/caller.ts'

/** `seconds` is null when only access is to be checked. */
export interface AdvanceInput extends CallerColumns {
  readonly merchantId: string
  readonly seconds: number | null
}

/** After access: what the clock says; or it would run more than 100 years ahead. */
export interface AdvancedClock extends Judged {
  readonly now: Date | null
  readonly isTooFar: boolean
}

const advanceQuery = prepare(
  'clock_advance',
  (p: AdvanceInput) => sql<{ verdict: Verdict | 'limit-exceeded'; identity_id: string | null; moment: Date | null }>`
    SELECT verdict, identity_id, moment
    FROM ${sql.table('clock_advance')}(${callerRow(p)}, ${p.merchantId}, ${p.seconds})`,
)

/** Moves the clock of a test merchant on, and tells what it then says. */
export async function callAdvanceClock(lanes: Lanes, input: AdvanceInput): Promise<AdvancedClock> {
  const row = await lanes.write.one(advanceQuery, input)
  const [verdict, refusal] = splitVerdict(row.verdict, ['limit-exceeded'])
  return { verdict, identityId: row.identity_id, now: row.moment, isTooFar: refusal !== undefined }
}
