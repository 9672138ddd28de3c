import type { Pools } from '@trestle/database/pools.ts'
import { prepareOnCoordinator } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import type { Trx } from '../database.ts'
import type { NewApp } from './app-repository.ts'

/** An app that a client wants. `codeHash`: the digest of its code; null where nobody needs one. */
export interface RegisteringApp extends NewApp {
  readonly codeHash: Buffer | null
}

/** `closed`: an operator has closed registration. `not-invited`: the code is not good. `done`: the app is made. */
export type Registered =
  | { readonly verdict: 'done'; readonly id: string }
  | { readonly verdict: 'closed' | 'not-invited'; readonly id: null }

const registerQuery = prepareOnCoordinator(
  'register_app',
  (p: RegisteringApp) => sql<Registered>`
    SELECT * FROM ${sql.table('register_app')}(${p.codeHash}, ${p.keyMac}, ${p.hint}, ${p.name})`,
)

/** Makes an app with its first key for a client, unless registration is closed, and uses the code up. */
export function callRegisterApp(pools: Pools, app: RegisteringApp): Promise<Registered> {
  return pools.write.one(registerQuery, app)
}

const closedQuery = prepareOnCoordinator(
  'registration_is_closed',
  () => sql<{ is_closed: boolean }>`SELECT r.is_closed FROM ${sql.table('registration')} r`,
)

/** Whether an operator has closed registration. */
export async function isRegistrationClosed({ read }: Pools): Promise<boolean> {
  return (await read.one(closedQuery, {})).is_closed
}

/** Closes registration, or opens it again. Registration that the settings close stays closed. */
export async function callChangeRegistration(trx: Trx, isClosed: boolean): Promise<void> {
  await sql`SELECT ${sql.table('change_registration')}(${isClosed})`.execute(trx)
}
