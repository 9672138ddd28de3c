import { inLatest } from '@trestle/database/migrations/migrator.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { AuthConfig } from '../config.ts'
import { createOwnSchema, hasRelation, requireFixedPath, requireOwnSchemas } from '../schema/catalog.ts'
import { findUnrecorded } from '../schema/existing-schema.ts'
import type { Encryption } from '../secrets/encrypted-secret.ts'

/** The dependencies of an adoption and of an import. Both open connections of their own. */
export interface AdoptionDeps extends Encryption {
  readonly config: AuthConfig
  readonly now: () => Date
}

/** Opens the dependencies of a command, which closes them at its end. */
export type OpenAdoptionDeps = () => Promise<AdoptionDeps & { readonly close: () => Promise<void> }>

/** The schemas of an adoption. */
export interface AdoptionPlaces {
  readonly names: Names
  /** The schema that takes the tables of supabase/auth whose names this service has too. An undo brings them back. */
  readonly kept: string
  /** The schema in which tables are filled while the old service serves. It is dropped at the end. */
  readonly staging: string
}

/** The state of an adoption in the database, for undo and for the runs after a run that was killed. */
export interface AdoptionRecord {
  /** The newest migration of supabase/auth: until the switch, as the last run has found it. */
  readonly version: string
  /** The later changes of supabase/auth that its tables have got, by name, in the order in which they were made. */
  readonly changes: readonly string[]
  /** When this service took over; null until then. */
  readonly switchedAt: Date | null
  /** When everything was copied, the audit log too, which comes after the switch; null until then. */
  readonly finishedAt: Date | null
  /** Whether the database had the extension pgcrypto before. */
  readonly hadPgcrypto: boolean
}

export function placesOf(names: Names): AdoptionPlaces {
  return { names, kept: `${names.schema}_before_trestle`, staging: `${names.schema}_adopting` }
}

/** The schemas beside the service's own in which an adoption works. */
export function schemasOf({ names, kept, staging }: AdoptionPlaces): readonly string[] {
  return [kept, staging, names.jobSchema]
}

/**
 * Makes the schemas and the record of an adoption, unless an earlier run has. The schema of the job queue is
 * made too, so that nobody else can make it before the switch.
 * @param changes the later changes of supabase/auth that its tables have got by a run whose record is lost
 * @throws Error where one of the schemas is not the user's own
 */
export async function beginRecord(
  db: Kysely<unknown>,
  places: AdoptionPlaces,
  { version, changes }: Pick<AdoptionRecord, 'version' | 'changes'>,
): Promise<void> {
  // Another run or another role may make one of the schemas during the wait: read their owners after the wait.
  await inLatest(db).execute(async (trx) => {
    for (const schema of schemasOf(places)) await createOwnSchema(trx, schema)
    await requireOwnSchemas(trx, schemasOf(places))
    // A publication FOR ALL TABLES forbids to update a table without a primary key.
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
 * The record of an adoption; undefined where none has begun.
 * @throws Error where its schema is not the user's own, the search path is not that of `adoptOptions`, or the tables are those
 * from before the switch
 */
export async function findRecord(db: Kysely<unknown>, places: AdoptionPlaces): Promise<AdoptionRecord | undefined> {
  const record = await readRecord(db, places)
  if (record === undefined || !(await isLeftOver(db, places, record))) return record
  throw new Error(
    `the schema ${places.names.schema} lacks the tables of this service, which took over at ${record.switchedAt?.toISOString()}: a dump from before has replaced it. auth adopt --forget drops what is left of that adoption; the old service may serve then, and auth adopt begins anew`,
  )
}

/** Whether the schema of the tables was restored to its state before the switch. */
export async function isLeftOver(
  db: Kysely<unknown>,
  { names }: AdoptionPlaces,
  { switchedAt }: Pick<AdoptionRecord, 'switchedAt'>,
): Promise<boolean> {
  if (switchedAt === null) return false
  const state = await findUnrecorded(db, names)
  return state === 'nothing' || state === 'prepared'
}

/** The record of an adoption, as `findRecord`, without a look at the tables. @throws Error as `findRecord` */
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
 * Whether this service has taken over. Another run may have switched between two transactions of this one.
 * @throws Error where the record of the run is gone
 */
export async function hasSwitched(db: Kysely<unknown>, places: AdoptionPlaces): Promise<boolean> {
  const record = await findRecord(db, places)
  if (record === undefined) throw new Error(`the schema ${places.kept} was dropped meanwhile: run this again`)
  return record.switchedAt !== null
}

/**
 * Records the version to which the old service has migrated the database since.
 * @param changes the recorded changes that the old service has not made itself by now, so that undo still takes them back
 */
export async function recordVersion(
  db: Kysely<unknown>,
  places: AdoptionPlaces,
  { version, changes }: Pick<AdoptionRecord, 'version' | 'changes'>,
): Promise<void> {
  await sql`UPDATE ${table(places)} SET version = ${version}, changes = ${[...changes]}::text[]`.execute(db)
}

/** Records later changes of supabase/auth that were made. A change that was recorded before keeps its place. */
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
 * Records that this service has taken over: the last copied refresh token, and when the last message and the last change of a
 * user were. A clock may be set back, and numbers only grow.
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

/** SQL of the number of the last refresh token that the switch has copied. This service has made those after it. */
export function lastCopiedToken({ kept }: Pick<AdoptionPlaces, 'kept'>): RawBuilder<unknown> {
  return sql`(SELECT last_token FROM ${sql.id(kept, 'adoption')})`
}

/** Records that everything was copied, so that no further run copies the audit log. */
export async function recordFinish(db: Kysely<unknown>, places: AdoptionPlaces): Promise<void> {
  await sql`UPDATE ${table(places)} SET finished_at = clock_timestamp()`.execute(db)
}

function table({ kept }: AdoptionPlaces): RawBuilder<unknown> {
  return sql.id(kept, 'adoption')
}

/** The place in which supabase/auth keeps a code of a kind of this service. SQL of it names a row of `users` as `u`. */
interface CodePlace {
  readonly kind: string
  readonly address: RawBuilder<unknown>
  /** The column of `users` with the token of the link, which is the hash of address and code. */
  readonly token: string
  readonly sentAt: string
  readonly when: RawBuilder<unknown>
  /** The name of the message's purpose in flows; null: the message is an SMS. */
  readonly methods: readonly string[] | null
}

export const COPIED_CODES = 'copied_codes'

/** The codes that the old service may wait for, and where it keeps them. */
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
