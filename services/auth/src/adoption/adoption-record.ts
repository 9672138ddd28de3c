import { inLatest } from '@trestle/database/migrations/migrator.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { AuthConfig } from '../config.ts'
import { createOwnSchema, hasRelation, requireFixedPath, requireOwnSchemas } from '../schema/catalog.ts'
import { findUnrecorded } from '../schema/existing-schema.ts'
import type { Encryption } from '../secrets/encrypted-secret.ts'

/** The dependencies of an adoption and of an import. Both open their own connections. */
export interface AdoptionDeps extends Encryption {
  readonly config: AuthConfig
  readonly now: () => Date
}

/** Opens the dependencies of a command. The command closes them when it ends. */
export type OpenAdoptionDeps = () => Promise<AdoptionDeps & { readonly close: () => Promise<void> }>

export interface AdoptionPlaces {
  readonly names: Names
  /** The schema to which tables of supabase/auth move if this service needs their names. An undo moves them back. */
  readonly kept: string
  /** The schema in which tables are filled while the old service still serves. It is dropped at the end. */
  readonly staging: string
}

/** The state of an adoption, stored in the database. An undo and later runs read it, for example after a run was killed. */
export interface AdoptionRecord {
  /** The newest migration of supabase/auth. Until the switch, each run stores the one that it finds. */
  readonly version: string
  /** The later changes of supabase/auth that the adoption has made to its tables, by name, in their order. */
  readonly changes: readonly string[]
  /** The time at which this service took over, or `null` before. */
  readonly switchedAt: Date | null
  /** The time at which everything was copied, or `null` before. The audit log is copied last, after the switch. */
  readonly finishedAt: Date | null
  /** Whether the database had the extension pgcrypto before the adoption. */
  readonly hadPgcrypto: boolean
}

export function placesOf(names: Names): AdoptionPlaces {
  return { names, kept: `${names.schema}_before_trestle`, staging: `${names.schema}_adopting` }
}

/** Returns the schemas that an adoption uses in addition to the schema of the service. */
export function schemasOf({ names, kept, staging }: AdoptionPlaces): readonly string[] {
  return [kept, staging, names.jobSchema]
}

/**
 * Creates the schemas and the record of an adoption, unless an earlier run has created them. Also creates the schema of the job
 * queue, so that no other role can create it before the switch.
 * @param changes the later changes of supabase/auth that a run with a lost record has made to the tables
 * @throws Error if another user owns one of the schemas
 */
export async function beginRecord(
  db: Kysely<unknown>,
  places: AdoptionPlaces,
  { version, changes }: Pick<AdoptionRecord, 'version' | 'changes'>,
): Promise<void> {
  // Another run or another role may create one of the schemas while this transaction waits. Read their owners after the wait.
  await inLatest(db).execute(async (trx) => {
    for (const schema of schemasOf(places)) await createOwnSchema(trx, schema)
    await requireOwnSchemas(trx, schemasOf(places))
    // The table needs a primary key. With a publication FOR ALL TABLES, PostgreSQL rejects updates of a table without one.
    await sql`
      CREATE TABLE IF NOT EXISTS ${table(places)} (
        one boolean PRIMARY KEY DEFAULT true CHECK (one), version text NOT NULL, changes text[] NOT NULL DEFAULT '{}', switched_at timestamptz,
        last_token bigint, last_change timestamptz, finished_at timestamptz, had_pgcrypto boolean NOT NULL)`.execute(
      trx,
    )
    await sql`
      INSERT INTO ${table(places)} (version, changes, had_pgcrypto)
      SELECT ${version}, ${[...changes]}::text[], EXISTS (SELECT FROM pg_extension WHERE extname = 'pgcrypto')
      WHERE NOT EXISTS (SELECT FROM ${table(places)})`.execute(trx)
  })
}

/**
 * Returns the record of an adoption, or `undefined` if no adoption has begun.
 * @throws Error if another user owns the schema of the record, if the search path differs from that of `adoptOptions`, or if the
 * tables were restored to their state before the switch
 */
export async function findRecord(db: Kysely<unknown>, places: AdoptionPlaces): Promise<AdoptionRecord | undefined> {
  const record = await readRecord(db, places)
  if (record === undefined || !(await isLeftOver(db, places, record))) return record
  throw new Error(
    `the schema ${places.names.schema} lacks the tables of this service, which took over at ${record.switchedAt?.toISOString()}: a dump from before has replaced it. auth adopt --forget drops what is left of that adoption; the old service may serve then, and auth adopt begins anew`,
  )
}

/** Returns whether the schema of the tables was restored to its state before the switch. */
export async function isLeftOver(
  db: Kysely<unknown>,
  { names }: AdoptionPlaces,
  { switchedAt }: Pick<AdoptionRecord, 'switchedAt'>,
): Promise<boolean> {
  if (switchedAt === null) return false
  const state = await findUnrecorded(db, names)
  return state === 'nothing' || state === 'prepared'
}

/** Returns the record of an adoption without a check of the tables. @throws Error as `findRecord` */
export async function readRecord(db: Kysely<unknown>, places: AdoptionPlaces): Promise<AdoptionRecord | undefined> {
  await requireFixedPath(db)
  await requireOwnSchemas(db, [places.kept])
  if (!(await hasRelation(db, places.kept, 'adoption'))) return undefined
  const { rows } = await sql<AdoptionRecord>`
    SELECT version, changes, switched_at AS "switchedAt", finished_at AS "finishedAt", had_pgcrypto AS "hadPgcrypto"
    FROM ${table(places)}`.execute(db)
  return rows[0]
}

/**
 * Returns whether this service has taken over. Another run may have made the switch between two transactions of this run.
 * @throws Error if the record of the run no longer exists
 */
export async function hasSwitched(db: Kysely<unknown>, places: AdoptionPlaces): Promise<boolean> {
  const record = await findRecord(db, places)
  if (record === undefined) throw new Error(`the schema ${places.kept} was dropped meanwhile: run this again`)
  return record.switchedAt !== null
}

/**
 * Records the version to which the old service has migrated the database in the meantime.
 * @param changes the recorded changes that the old service has not made itself, which undo must still revert
 */
export async function recordVersion(
  db: Kysely<unknown>,
  places: AdoptionPlaces,
  { version, changes }: Pick<AdoptionRecord, 'version' | 'changes'>,
): Promise<void> {
  await sql`UPDATE ${table(places)} SET version = ${version}, changes = ${[...changes]}::text[]`.execute(db)
}

/** Records later changes of supabase/auth that were made. A change that is already recorded keeps its place. */
export async function recordChanges(
  trx: Kysely<unknown>,
  places: AdoptionPlaces,
  changes: readonly string[],
): Promise<void> {
  await sql`
    UPDATE ${table(places)} SET changes = changes || ARRAY (
      SELECT name FROM unnest(${changes}::text[]) WITH ORDINALITY AS made (name, number) WHERE name <> ALL (changes) ORDER BY number)`.execute(
    trx,
  )
}

/**
 * Records that this service has taken over. Stores the number of the last copied refresh token, and the time of the last message
 * or change of any user. The number is needed too: numbers only grow, but a clock may be set back.
 */
export async function recordSwitch(trx: Kysely<unknown>, places: AdoptionPlaces): Promise<void> {
  const times = ['updated_at', ...new Set(CODES.map(({ sentAt }) => sentAt))].map((column) => sql.ref(column))
  await sql`
    UPDATE ${table(places)} SET switched_at = clock_timestamp(),
      last_token = coalesce((SELECT max(id) FROM ${places.names.id('refresh_tokens')}), 0),
      last_change = (
        SELECT coalesce(max(u.at), '-infinity')
        FROM (SELECT greatest(${sql.join(times)}) AS at FROM ${places.names.id('users')}) u
        -- Somebody may have written a time that never comes.
        WHERE u.at < clock_timestamp() + interval '1 day')`.execute(trx)
}

/** SQL for the number of the last refresh token that the switch has copied. This service created all later ones. */
export function lastCopiedToken({ kept }: Pick<AdoptionPlaces, 'kept'>): RawBuilder<unknown> {
  return sql`(SELECT last_token FROM ${sql.id(kept, 'adoption')})`
}

/** Records that everything was copied, so that later runs do not copy the audit log. */
export async function recordFinish(db: Kysely<unknown>, places: AdoptionPlaces): Promise<void> {
  await sql`UPDATE ${table(places)} SET finished_at = clock_timestamp()`.execute(db)
}

function table({ kept }: AdoptionPlaces): RawBuilder<unknown> {
  return sql.id(kept, 'adoption')
}

/** The place in which supabase/auth stores a code of this kind. Its SQL refers to a row of `users` as `u`. */
interface CodePlace {
  readonly kind: string
  readonly address: RawBuilder<unknown>
  /** The column of `users` with the link token. The link token is the hash of the address and the code. */
  readonly token: string
  readonly sentAt: string
  readonly when: RawBuilder<unknown>
  /** The names that flows use for the purpose of the message, or `null` if the message contains no link. */
  readonly methods: readonly string[] | null
}

export const COPIED_CODES = 'copied_codes'

/** The codes that the old service may have open, and the columns in which it stores them. */
export const CODES: readonly CodePlace[] = [
  {
    kind: 'confirmation',
    address: sql`lower(u.email)`,
    token: 'confirmation_token',
    sentAt: 'confirmation_sent_at',
    when: sql`u.email <> '' AND u.email_confirmed_at IS NULL AND u.invited_at IS NULL`,
    methods: ['email/signup', 'magiclink'],
  },
  {
    kind: 'invitation',
    address: sql`lower(u.email)`,
    token: 'confirmation_token',
    sentAt: 'confirmation_sent_at',
    when: sql`u.email <> '' AND u.email_confirmed_at IS NULL AND u.invited_at IS NOT NULL`,
    methods: ['email/signup', 'invite', 'magiclink'],
  },
  {
    kind: 'sms',
    address: sql`u.phone`,
    token: 'confirmation_token',
    sentAt: 'confirmation_sent_at',
    when: sql`u.phone <> '' AND (coalesce(u.email, '') = '' OR u.email_confirmed_at IS NOT NULL)`,
    methods: null,
  },
  {
    kind: 'recovery',
    address: sql`lower(u.email)`,
    token: 'recovery_token',
    sentAt: 'recovery_sent_at',
    when: sql`u.email <> ''`,
    methods: ['recovery', 'magiclink'],
  },
  {
    kind: 'email_change_new',
    address: sql`lower(u.email_change)`,
    token: 'email_change_token_new',
    sentAt: 'email_change_sent_at',
    when: sql`u.email_change <> ''`,
    methods: ['email_change'],
  },
  {
    kind: 'email_change_current',
    address: sql`lower(u.email)`,
    token: 'email_change_token_current',
    sentAt: 'email_change_sent_at',
    when: sql`u.email <> '' AND u.email_change <> ''`,
    methods: ['email_change'],
  },
  {
    kind: 'phone_change',
    address: sql`u.phone_change`,
    token: 'phone_change_token',
    sentAt: 'phone_change_sent_at',
    when: sql`u.phone_change <> ''`,
    methods: null,
  },
  {
    kind: 'reauthentication',
    address: sql`coalesce(nullif(lower(u.email), ''), u.phone)`,
    token: 'reauthentication_token',
    sentAt: 'reauthentication_sent_at',
    when: sql`coalesce(nullif(u.email, ''), u.phone) <> ''`,
    methods: null,
  },
]
