import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import type { PersonTokenOptions, VerifyPersonToken } from './person-token.ts'

/** People who call with a token of the sign-in service instead of an app's key. */
export interface Persons {
  readonly verify: VerifyPersonToken
  /** Makes the user of an address, unless there is one: a person need not have been invited before. */
  register(email: string): Promise<void>
}

const REMEMBERED = 10_000

const registerQuery = prepare(
  'user_of_email',
  (p: { email: string }) => sql<{ id: string }>`SELECT (${sql.table('user_of_email')}(${p.email})).id`,
)

/** Loads what verifies tokens too: a service where no person signs in starts without it. */
export async function openPersons(lanes: Lanes, options: PersonTokenOptions): Promise<Persons> {
  const { createPersonTokenVerifier } = await import('./person-token.ts')
  return createPersons(lanes, createPersonTokenVerifier(options))
}

/** Users are never deleted, so those that were seen need not be looked for again. */
export function createPersons(lanes: Lanes, verify: VerifyPersonToken): Persons {
  const seen = new LRUCache<string, true>({ max: REMEMBERED })
  return {
    verify,
    register: async (email) => {
      if (seen.has(email)) return
      await lanes.write.one(registerQuery, { email })
      seen.set(email, true)
    },
  }
}
