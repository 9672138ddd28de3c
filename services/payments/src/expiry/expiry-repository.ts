import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'

interface ExpireInput {
  readonly merchantId: string
  readonly days: number
  readonly limit: number
}

/** `lookedAt` equal to the limit means that there may be more. */
export interface ExpiredAuthorizations {
  readonly lookedAt: number
  readonly voided: number
}

const expireQuery = prepare(
  'expire_authorizations',
  (p: ExpireInput) => sql<ExpiredAuthorizations>`
    SELECT looked_at AS "lookedAt", voided
    FROM ${sql.table('expire_authorizations')}(${p.merchantId}, ${p.days}, ${p.limit})`,
)

/** Voids what is left of a merchant's oldest reservations, of those that were not looked at before. */
export function callExpireAuthorizations(lanes: Lanes, input: ExpireInput): Promise<ExpiredAuthorizations> {
  return lanes.write.one(expireQuery, input)
}
