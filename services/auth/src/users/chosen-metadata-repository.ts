import { sql } from 'kysely'
import type { Behaviours } from '../config/behaviours.ts'
import type { Trx } from '../database.ts'
import { CLAIM_NAMES } from '../identities/external-account.ts'

/** Metadata as a user or an admin sends it. Null deletes a key. */
type SentMetadata = Readonly<Record<string, unknown>>

/**
 * The names of sent metadata that a provider may write too, so that their number is bounded. A key that is deleted is one of
 * them: the provider does not bring it back.
 */
export function chosenNames(sent: SentMetadata | undefined): string[] {
  return Object.keys(sent ?? {}).filter((name) => CLAIM_NAMES.has(name))
}

/** Remembers that a user or an admin has written metadata, so that no provider writes over it (reference: Metadata). */
export async function rememberChosen(trx: Trx, userId: string, sent: SentMetadata | undefined): Promise<void> {
  const names = chosenNames(sent)
  if (names.length === 0) return
  const all = sql<string[]>`ARRAY(SELECT DISTINCT unnest(chosen_metadata || ${names}::text[]) ORDER BY 1)`
  await trx.updateTable('users').set({ chosen_metadata: all }).where('id', '=', userId).execute()
}

/** The claims of a provider without those that the user or an admin has chosen. In the profile supabase they are all there. */
export async function getUnchosenClaims(
  trx: Trx,
  { behaviours }: { readonly behaviours: Pick<Behaviours, 'keepChosenMetadata'> },
  userId: string,
  claims: SentMetadata,
): Promise<SentMetadata> {
  if (!behaviours.keepChosenMetadata) return claims
  const user = await trx.selectFrom('users').select('chosen_metadata').where('id', '=', userId).executeTakeFirst()
  const chosen = new Set(user?.chosen_metadata)
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !chosen.has(name)))
}
