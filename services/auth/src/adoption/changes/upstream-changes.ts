import { againWhenLocked } from '@trestle/database/migrations/migration-connection.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { createIndexConcurrently, findIndexState, inGentle, type LateIndex } from '../adoption-locks.ts'
import { type AdoptionPlaces, recordChanges } from '../adoption-record.ts'
import { GAINING_TABLES, LATER_COLUMNS } from './added-columns.ts'
import {
  addPhoneValue,
  fitsPublications,
  hasPhoneValue,
  PHONE_FACTORS,
  removePhoneValue,
  replaceKey,
  replicateByKey,
  replicateBySubject,
  restoreKey,
} from './identity-key.ts'

/** A change that later versions of supabase/auth have made to a table that stays. */
interface UpstreamChange {
  readonly name: string
  /** `undefined` if the change concerns a type. */
  readonly table?: string
  /** The migration of supabase/auth that makes this change. */
  readonly migration: string
  /** Whether the old service works with the changed table. Changes with `false` wait for the switch. */
  readonly isHarmless: boolean
  readonly isMade: RawBuilder<boolean>
  readonly up: readonly Step[]
  /** Empty if reverting another change also reverts this one, or if `revertUpstreamChanges` reverts it. */
  readonly down: readonly Step[]
}

interface Step {
  readonly execute: (trx: Kysely<unknown>) => Promise<unknown>
}

/** The tables from which the old service reads whole rows. Their new columns wait for the switch. */
const READ_WHOLE: ReadonlySet<string> = new Set(['sessions'])

/** The indexes that later versions of supabase/auth have added, each with its migration. */
const INDEXES = {
  users_is_anonymous_idx: ['INDEX ON users (is_anonymous)', '20240214120130'],
  sessions_not_after_idx: ['INDEX ON sessions (not_after DESC)', '20230508135423'],
  sessions_oauth_client_id_idx: ['INDEX ON sessions (oauth_client_id)', '20250904133000'],
  mfa_factors_user_id_idx: ['INDEX ON mfa_factors (user_id)', '20230914180801'],
  unique_phone_factor_per_user: ['UNIQUE INDEX ON mfa_factors (user_id, phone)', '20240806073726'],
} as const

/** The indexes on columns that wait for the switch. */
const LATE_INDEXES: ReadonlySet<string> = new Set(['sessions_oauth_client_id_idx'])

/** Changes the tables that stay to the form of the newest supabase/auth, as its own migrations do, and records each change. */
export async function applyUpstreamChanges(trx: Kysely<unknown>, places: AdoptionPlaces): Promise<void> {
  for (const change of changesOf(places.names.schema)) await applyChange(trx, places, change)
}

/**
 * Applies the changes that do not affect the old service, except indexes. Each change has its own transaction, which locks one
 * table.
 */
export async function applyEarlyChanges(db: Kysely<unknown>, places: AdoptionPlaces): Promise<void> {
  for (const change of tableChanges(places.names.schema)) {
    const { isHarmless, table } = change
    const locked = table === undefined ? undefined : { places, table }
    if (isHarmless) await againWhenLocked(() => inGentle(db, (trx) => applyChange(trx, places, change), locked))
  }
}

/** Creates the indexes of these changes. Records each index first, so that an undo also drops one of a killed run. */
export async function createEarlyIndexes(
  db: Kysely<unknown>,
  places: AdoptionPlaces,
  report: (line: string) => void,
): Promise<void> {
  const { names } = places
  for (const [name, [definition]] of Object.entries(INDEXES)) {
    if (LATE_INDEXES.has(name) || (await findIndexState(db, names, name)) === 'valid') continue
    await recordChanges(db, places, [name])
    await createIndexConcurrently(db, names, { name, ...partsOf(definition) }, report)
  }
}

async function applyChange(trx: Kysely<unknown>, places: AdoptionPlaces, change: UpstreamChange): Promise<void> {
  const { rows } = await sql<{ is_made: boolean }>`SELECT ${change.isMade} AS is_made`.execute(trx)
  if (rows[0]?.is_made === true) return
  for (const statement of change.up) await statement.execute(trx)
  await recordChanges(trx, places, [change.name])
}

/**
 * Returns the changes in `made` that an undo reverts. Leaves out changes that later migrations of the old service also make. The
 * old service relies on them and does not make them again.
 * @param since the newest migration at the time of the changes
 * @param version the newest migration now
 */
export function ownChanges(
  made: readonly string[],
  { names }: AdoptionPlaces,
  { since, version }: { readonly since: string; readonly version: string },
): readonly string[] {
  const later = changesOf(names.schema).filter(({ migration }) => since < migration && migration <= version)
  return made.filter((name) => !later.some((change) => change.name === name))
}

/** The early changes that the database has although the old service lacks their migrations, in their order. */
export async function listMadeSince(
  db: Kysely<unknown>,
  { names }: Pick<AdoptionPlaces, 'names'>,
  version: string,
): Promise<readonly string[]> {
  const made: string[] = []
  const early = changesOf(names.schema).filter(({ isHarmless, migration }) => isHarmless && migration > version)
  for (const { name, isMade } of early) {
    const { rows } = await sql<{ is_made: boolean }>`SELECT ${isMade} AS is_made`.execute(db)
    if (rows[0]?.is_made === true) made.push(name)
  }
  return made
}

/** Reverts the changes that `applyUpstreamChanges` has recorded, the last change first. */
export async function revertUpstreamChanges(
  trx: Kysely<unknown>,
  { names }: AdoptionPlaces,
  made: readonly string[],
): Promise<void> {
  const changes = new Map(changesOf(names.schema).map((change) => [change.name, change]))
  for (const name of made.toReversed()) {
    if (name === PHONE_FACTORS) await removePhoneValue(trx, names)
    for (const statement of changes.get(name)?.down ?? []) await statement.execute(trx)
  }
}

function changesOf(schema: string): readonly UpstreamChange[] {
  return [...tableChanges(schema), ...indexChanges(schema), identityChange(schema), replicaChange(schema)]
}

function tableChanges(schema: string): readonly UpstreamChange[] {
  return [typeChange(schema), ...columnChanges(schema), ...pageChanges(schema)]
}

/** The migration of a change that no version of supabase/auth makes. An undo always reverts such a change. */
const NO_MIGRATION = '99999999999999'

/** Leaves room for updates in the pages, as other tables of this service do. A value of the operator stays. */
function pageChanges(schema: string): readonly UpstreamChange[] {
  return GAINING_TABLES.map((table) => ({
    name: `${table}.fillfactor`,
    table,
    migration: NO_MIGRATION,
    isHarmless: true,
    isMade: sql<boolean>`EXISTS (
      SELECT FROM pg_class CROSS JOIN unnest(reloptions) option
      WHERE oid = to_regclass(format('%I.%I', ${schema}::text, ${table}::text)) AND option LIKE 'fillfactor=%')`,
    up: [sql`ALTER TABLE ${sql.id(schema, table)} SET (fillfactor = 80)`],
    down: [sql`ALTER TABLE ${sql.id(schema, table)} RESET (fillfactor)`],
  }))
}

function columnChanges(schema: string): readonly UpstreamChange[] {
  return Object.entries(LATER_COLUMNS).flatMap(([table, columns]) =>
    columns.map(([definition, migration]) => {
      const column = definition.split(' ')[0] ?? ''
      const place = sql.id(schema, table)
      return {
        name: `${table}.${column}`,
        table,
        migration,
        isHarmless: !READ_WHOLE.has(table),
        isMade: hasColumn(schema, table, column),
        up: [sql`ALTER TABLE ${place} ADD COLUMN ${sql.raw(definition)}`],
        down: [sql`ALTER TABLE ${place} DROP COLUMN ${sql.id(column)}`],
      }
    }),
  )
}

/** An index on an added column is created after the column. PostgreSQL drops it with the column. */
function indexChanges(schema: string): readonly UpstreamChange[] {
  return Object.entries(INDEXES).map(([name, [definition, migration]]) => {
    const { table, isUnique, definition: columns } = partsOf(definition)
    return {
      name,
      table,
      migration,
      isHarmless: !LATE_INDEXES.has(name),
      isMade: sql<boolean>`to_regclass(format('%I.%I', ${schema}::text, ${name}::text)) IS NOT NULL`,
      up: [sql`CREATE ${isUnique ? sql`UNIQUE` : sql``} INDEX ${sql.id(name)} ON ${sql.id(schema, table)} ${columns}`],
      down: [sql`DROP INDEX IF EXISTS ${sql.id(schema, name)}`],
    }
  })
}

/** @param definition such as `UNIQUE INDEX ON users (email)` */
function partsOf(definition: string): Omit<LateIndex, 'name'> {
  const {
    kind,
    table = '',
    columns = '',
  } = /^(?<kind>.*) ON (?<table>\w+) (?<columns>.*)$/.exec(definition)?.groups ?? {}
  return { table, isUnique: kind === 'UNIQUE INDEX', definition: sql.raw(columns) }
}

function typeChange(schema: string): UpstreamChange {
  return {
    name: PHONE_FACTORS,
    migration: '20240729123726',
    isHarmless: true,
    isMade: hasPhoneValue({ schema }),
    up: [addPhoneValue({ schema })],
    down: [],
  }
}

/** Before 2.117, `id` is the subject at the provider. These versions read no other column, so this waits for the switch. */
function identityChange(schema: string): UpstreamChange {
  return {
    name: 'identities.provider_id',
    table: 'identities',
    migration: '20231117164230',
    isHarmless: false,
    isMade: hasColumn(schema, 'identities', 'provider_id'),
    up: [{ execute: (trx) => replaceKey(trx, schema) }],
    down: [{ execute: (trx) => restoreKey(trx, schema) }],
  }
}

/** Keeps publications working that contain the columns of the old key. */
function replicaChange(schema: string): UpstreamChange {
  return {
    name: 'identities.replica_identity',
    migration: NO_MIGRATION,
    isHarmless: false,
    isMade: fitsPublications(schema),
    up: [replicateBySubject(schema)],
    down: [replicateByKey(schema)],
  }
}

function hasColumn(schema: string, table: string, column: string): RawBuilder<boolean> {
  return sql<boolean>`EXISTS (
    SELECT FROM pg_attribute
    WHERE attrelid = to_regclass(format('%I.%I', ${schema}::text, ${table}::text)) AND attname = ${column} AND NOT attisdropped)`
}
