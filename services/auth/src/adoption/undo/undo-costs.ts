import { type Kysely, type RawBuilder, sql } from 'kysely'
import { hasRelation } from '../../schema/catalog.ts'
import type { EncryptionKeys } from '../../secrets/sealed-secret.ts'
import type { AdoptionPlaces, AdoptionRecord } from '../adoption-record.ts'
import { listTypeNeeds, PHONE_FACTORS } from '../changes/factor-type.ts'
import { ownChanges } from '../changes/upstream-changes.ts'
import { findVersion } from '../upstream-tables.ts'
import { listSpoiltCredentials } from './give-back-passkeys.ts'
import { countEndedSessions, countForeignHashes, type SessionCounts } from './give-back-rows.ts'
import { listSpoiltFactors, listUnfitForUpstream } from './give-back-sealed-rows.ts'
import { countUnfitFactors, NO_UNFIT_FACTORS, type UnfitFactors } from './unfit-factors.ts'

/** The losses that `adopt --undo` would bring to users, for the operator who decides on it. */
export interface UndoCosts {
  /** Whether this service has taken over. Before, an undo costs the users nothing. */
  readonly hasSwitched: boolean
  /** How many of the sessions end. */
  readonly sessions: SessionCounts
  /** Users whose password is stored in a form that supabase/auth does not know. */
  readonly passwords: number
  /** Custom providers that supabase/auth cannot have, by their identifiers. */
  readonly providers: readonly string[]
  /** Second factors that the version of supabase/auth cannot have. They are removed. */
  readonly factors: UnfitFactors
  /** Passkeys, where the version of supabase/auth has none. */
  readonly passkeys: number
  /** Users with recovery codes, which no version of supabase/auth takes. */
  readonly recoveryCodes: number
  /** Passkeys and second factors that SQL of others has spoilt, by table and id, see `listSpoiltCredentials`. */
  readonly spoilt: readonly string[]
  /** Users who are operators of the console. */
  readonly operators: number
  /** The reasons why the type of factors keeps the value for phones that the adoption has added; empty where it goes. */
  readonly phoneValueKeptBy: readonly string[]
}

/** Finds out what an undo loses. Before the switch it takes nothing from users. */
export async function findUndoCosts(
  db: Kysely<unknown>,
  places: AdoptionPlaces,
  { switchedAt, version, changes }: Pick<AdoptionRecord, 'switchedAt' | 'version' | 'changes'>,
  keys: EncryptionKeys,
): Promise<UndoCosts> {
  const { names, kept } = places
  const made = ownChanges(changes, places, { since: version, version: await findVersion(db, names) })
  const phoneValueKeptBy = made.includes(PHONE_FACTORS) ? await listTypeNeeds(db, names) : []
  if (switchedAt === null) return { ...NO_COSTS, phoneValueKeptBy }
  return {
    hasSwitched: true,
    sessions: await countEndedSessions(db, places),
    passwords: await countForeignHashes(db, places),
    providers: await listUnfitForUpstream(db, places, keys),
    factors: await countUnfitFactors(db, { places, version }),
    passkeys: (await hasRelation(db, kept, 'webauthn_credentials'))
      ? 0
      : await count(db, sql`${names.id('webauthn_credentials')}`),
    recoveryCodes: await count(db, sql`${names.id('mfa_recovery_sets')}`),
    spoilt: [...(await listSpoiltCredentials(db, places)), ...(await listSpoiltFactors(db, places, keys))],
    operators: await count(db, sql`${names.id('users')} WHERE console_role IS NOT NULL`),
    phoneValueKeptBy,
  }
}

const NO_COSTS: Omit<UndoCosts, 'phoneValueKeptBy'> = {
  hasSwitched: false,
  sessions: { ended: 0, all: 0 },
  passwords: 0,
  providers: [],
  factors: NO_UNFIT_FACTORS,
  passkeys: 0,
  recoveryCodes: 0,
  spoilt: [],
  operators: 0,
}

async function count(db: Kysely<unknown>, rows: RawBuilder<unknown>): Promise<number> {
  const { rows: counts } = await sql<{ count: number }>`SELECT count(*)::int AS count FROM ${rows}`.execute(db)
  return counts[0]?.count ?? 0
}
