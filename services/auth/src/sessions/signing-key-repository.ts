import { type Kysely, sql } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { SealedSecret } from '../secrets/sealed-secret.ts'
import type { PublicJwk, SigningAlgorithm } from './signing-key.ts'

/** `next`: published, not signing. `active`: signs. `retired`: verifies until its time is over. */
export type SigningKeyState = 'next' | 'active' | 'retired'

export interface StoredSigningKey {
  readonly kid: string
  readonly state: SigningKeyState
  /** The private JWK as JSON, sealed under `kid`. */
  readonly sealed: SealedSecret
}

/** Every key that signs or verifies now, oldest first. */
export async function listSigningKeys(db: Kysely<AuthDatabase>): Promise<StoredSigningKey[]> {
  const rows = await db
    .selectFrom('signing_keys')
    .select(['kid', 'state', 'private_sealed'])
    .where((eb) => eb.or([eb('retire_at', 'is', null), eb('retire_at', '>', sql<string>`now()`)]))
    .orderBy('created_at')
    .orderBy('kid')
    .limit(100)
    .execute()
  // The table's CHECK constraint allows no other state.
  return rows.map(({ kid, state, private_sealed: sealed }) => ({ kid, state: state as SigningKeyState, sealed }))
}

export interface NewSigningKey {
  readonly kid: string
  readonly alg: SigningAlgorithm
  readonly sealed: SealedSecret
  readonly publicJwk: PublicJwk | null
  /** Whether it becomes the active key when there is none. */
  readonly signs: boolean
}

/** Adds keys that the table lacks. Processes that start together do it once. */
export async function insertMissingSigningKeys(
  db: Kysely<AuthDatabase>,
  keys: readonly NewSigningKey[],
): Promise<void> {
  for (const { kid, alg, sealed, publicJwk, signs } of keys) {
    const hasActive = sql<boolean>`EXISTS (SELECT FROM ${sql.table('signing_keys')} k WHERE k.state = 'active')`
    await db
      .insertInto('signing_keys')
      .values({
        kid,
        alg,
        state: signs ? sql<string>`CASE WHEN ${hasActive} THEN 'next' ELSE 'active' END` : 'next',
        private_sealed: sealed,
        public_jwk: publicJwk,
      })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
}
