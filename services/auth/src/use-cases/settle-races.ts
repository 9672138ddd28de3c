import { violates } from '@trestle/database/violations.ts'
import type { Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { ACCOUNT_KEY } from '../identities/identity-repository.ts'
import { EMAIL_KEYS } from '../users/user-change-repository.ts'

/** A decision rests on rows that a concurrent request has changed. */
export class StaleView extends Error {
  override readonly name = 'StaleView'
}

/** Each failed attempt means that another request about the same user has succeeded. */
const ATTEMPTS_MAX = 10
const RACES = [...EMAIL_KEYS, ACCOUNT_KEY]

/**
 * Runs a transaction that decides whose an external account is. Runs it again where a concurrent request has taken the account or its
 * email, which a unique index reports. The next attempt sees the rows of that request.
 */
export async function settleRaces<Result>(
  { db, names }: Pick<AuthDeps, 'db' | 'names'>,
  run: (trx: Transaction<AuthDatabase>) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await db.transaction().execute(run)
    } catch (error) {
      const isRace = error instanceof StaleView || violates(error, names, ...RACES)
      if (!isRace || attempt === ATTEMPTS_MAX) throw error
    }
  }
}
