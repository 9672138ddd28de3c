import { migratorTables } from '@trestle/database/names.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, sql } from 'kysely'
import type { AuthTables } from '../database.ts'
import { hasUpstreamTables } from './existing-schema.ts'

/**
 * The tables that supabase/auth also has. They keep the privileges that supabase/auth has granted. The view `user_factors` reads
 * with the rights of its reader.
 */
type Shared = 'users' | 'identities' | 'sessions' | 'mfa_factors' | 'mfa_amr_claims' | 'user_factors'

/** The counters of rate limits, which only a library reads and writes. */
type Unqueried = 'rate_limits'

/** The tables of this service that supabase/auth does not have. The type ensures that none is missing. */
const OWN_TABLES: Readonly<Record<Exclude<keyof AuthTables, Shared> | Unqueried, true>> = {
  user_directory: true,
  one_time_tokens: true,
  audit_log_entries: true,
  send_throttle: true,
  code_guesses: true,
  flow_state: true,
  refresh_tokens: true,
  address_changes: true,
  sign_up_contents: true,
  mfa_challenges: true,
  mfa_recovery_sets: true,
  mfa_recovery_codes: true,
  webauthn_credentials: true,
  webauthn_challenges: true,
  signing_keys: true,
  custom_oauth_providers: true,
  deleted_providers: true,
  outbox: true,
  operator_changes: true,
  messages: true,
  rate_limits: true,
}

/** The names of the tables that supabase/auth does not have: those of this service and of the migrator. */
export const ownTables: readonly string[] = [...Object.keys(OWN_TABLES), ...migratorTables]

/** The trigger that records changed sessions until the switch. */
export const NOTING_TRIGGER = 'trestle_note_change'
/** The trigger that refuses writes of an old server to a table after the switch. */
export const REFUSING_TRIGGER = 'trestle_refuse_old_server'
export const REFUSING_FUNCTION = 'refuse_old_server'

/** Trigger functions that write with the rights of their owner. */
const OWN_TRIGGERS = ['list_user', 'claim_user'] as const

/**
 * Lets only the owner use this service's own tables in an adopted database. Default privileges may have granted new tables and
 * functions to the roles of PostgREST. Other databases stay unchanged.
 * @param except names that tables of supabase/auth have until the switch
 */
export async function hideOwnTables(db: Kysely<unknown>, names: Names, except: readonly string[] = []): Promise<void> {
  if (!(await hasUpstreamTables(db, names))) return
  await hideRows(db, names, except)
  await closeTriggers(db, names)
}

/** Hides rows by row level security without policies, as supabase/auth does. Skips tables that are already hidden. */
async function hideRows(db: Kysely<unknown>, names: Names, except: readonly string[]): Promise<void> {
  const own = ownTables.filter((table) => !except.includes(table))
  const { rows } = await sql<{ name: string }>`
    SELECT relname AS name FROM pg_class
    WHERE relnamespace = to_regnamespace(format('%I', ${names.schema}::text)) AND relkind IN ('r', 'p') AND NOT relrowsecurity
      AND relname = ANY (${own}::text[]) ORDER BY relname`.execute(db)
  for (const { name } of rows) await sql`ALTER TABLE ${names.id(name)} ENABLE ROW LEVEL SECURITY`.execute(db)
}

/** Revokes EXECUTE from others. A role with this right could create such a trigger on its own table. */
async function closeTriggers(db: Kysely<unknown>, names: Names): Promise<void> {
  const { rows } = await sql<{ name: string; grantee: string | null }>`
    SELECT DISTINCT p.proname AS name, r.rolname AS grantee
    FROM pg_proc p CROSS JOIN aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a LEFT JOIN pg_roles r ON r.oid = a.grantee
    WHERE p.pronamespace = to_regnamespace(format('%I', ${names.schema}::text)) AND p.proname = ANY (${[...OWN_TRIGGERS]}::text[])
      AND p.pronargs = 0 AND p.prosecdef AND p.proowner = current_user::regrole AND a.grantee <> p.proowner
    ORDER BY name, grantee`.execute(db)
  for (const { name, grantee } of rows) {
    const from = grantee === null ? sql`PUBLIC` : sql.id(grantee)
    await sql`REVOKE EXECUTE ON FUNCTION ${names.id(name)}() FROM ${from} CASCADE`.execute(db)
  }
}
