import { migratorTables } from '@trestle/database/names.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, sql } from 'kysely'
import type { AuthTables } from '../database.ts'
import { hasUpstreamTables } from './existing-schema.ts'

/**
 * The tables that supabase/auth has too keep the privileges that it has granted. The view `user_factors` reads with the rights of
 * its reader.
 */
type Shared = 'users' | 'identities' | 'sessions' | 'mfa_factors' | 'mfa_amr_claims' | 'user_factors'

/** The counters of rate limits, which a library of its own reads and writes. */
type Unqueried = 'rate_limits'

/** The tables of this service that supabase/auth does not have. The type requires that none is missing. */
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

/** The names of the tables that supabase/auth does not have: this service's and the migrator's. */
export const ownTables: readonly string[] = [...Object.keys(OWN_TABLES), ...migratorTables]

/** The trigger that notes sessions which change, until the switch. */
export const NOTING_TRIGGER = 'trestle_note_change'
/** The trigger on each table that an old server writes to, from the switch on. */
export const REFUSING_TRIGGER = 'trestle_refuse_old_server'
/** The function of this trigger. */
export const REFUSING_FUNCTION = 'refuse_old_server'

/** The trigger functions that write with the rights of their owner. */
const OWN_TRIGGERS = ['list_user', 'claim_user'] as const

/**
 * In an adopted database, leaves the own tables of this service to their owner alone. Default privileges may have granted new
 * tables and functions to the roles of PostgREST. Elsewhere nothing changes.
 * @param except names that tables of supabase/auth have until the switch
 */
export async function hideOwnTables(db: Kysely<unknown>, names: Names, except: readonly string[] = []): Promise<void> {
  if (!(await hasUpstreamTables(db, names))) return
  await hideRows(db, names, except)
  await closeTriggers(db, names)
}

/** Hides rows by row level security without policies, as supabase/auth does. Hidden tables stay as they are. */
async function hideRows(db: Kysely<unknown>, names: Names, except: readonly string[]): Promise<void> {
  const own = ownTables.filter((table) => !except.includes(table))
  const { rows } = await sql<{ name: string }>`
    SELECT relname AS name FROM pg_class
    WHERE relnamespace = to_regnamespace(format('%I', ${names.schema}::text)) AND relkind IN ('r', 'p') AND NOT relrowsecurity
      AND relname = ANY (${own}::text[]) ORDER BY relname`.execute(db)
  for (const { name } of rows) await sql`ALTER TABLE ${names.id(name)} ENABLE ROW LEVEL SECURITY`.execute(db)
}

/** Revokes EXECUTE from others: a role with it may make such a trigger on a table of its own. */
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
