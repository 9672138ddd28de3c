import { violates } from '@trestle/database/violations.ts'
import type { Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { ACCOUNT_KEY } from '../identities/identity-repository.ts'
import { EMAIL_KEYS } from '../users/user-repository.ts'

/** What was looked up is no longer so: another request was first. */
export class StaleView extends Error {
  override readonly name = 'StaleView'
}

/** Each failed attempt means that another request has succeeded, so this many at once would all have to be about one person. */
const ATTEMPTS_MAX = 10
const RACES = [...EMAIL_KEYS, ACCOUNT_KEY]

/**
 * Runs a transaction that decides by what it sees whose an external account is, and again where another request took the
 * account or its address meanwhile: the unique indexes tell, and the next attempt sees who it was.
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
