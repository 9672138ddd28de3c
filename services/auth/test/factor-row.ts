import { randomUUID } from 'node:crypto'
import type { Insertable } from 'kysely'
import type { MfaFactorsTable } from '../src/factors/factor.ts'

type Row = Insertable<MfaFactorsTable>

/** Returns the row of a second factor, by default of an unverified authenticator app. */
export function factorRow(values: Partial<Row> & Pick<Row, 'user_id'>): Row {
  const at = new Date()
  return { id: randomUUID(), factor_type: 'totp', status: 'unverified', created_at: at, updated_at: at, ...values }
}
