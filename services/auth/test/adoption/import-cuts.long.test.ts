import { openWire } from '@trestle/testing/cut-wire.ts'
import { expect, it } from 'vitest'
import { restore } from './adopted-app.ts'
import { type ImportingApp, openBeside } from './imported-app.ts'
import { readTables, runSql } from './restored-database.ts'

const HOURS_MS = 3 * 3_600_000
/** The number of statements at which each connection is cut, or `all`. */
const CUTS = process.env.IMPORT_CUTS ?? '2'

/** Columns with random values, by table. */
const CHANCE: Readonly<Record<string, string>> = {
  users: '',
  user_directory: '',
  identities: '',
  sessions: '',
  mfa_amr_claims: '',
  mfa_factors: '',
  refresh_tokens: '',
  webauthn_credentials: '',
  one_time_tokens: ` - 'id'`,
  flow_state: ` - 'provider_access_token' - 'provider_refresh_token'`,
  custom_oauth_providers: ` - 'client_secret'`,
  audit_log_entries: '',
}

/** The rows of all tables that an import writes, without random values. */
async function readRows({ database: { directUrl } }: ImportingApp) {
  const selects = Object.entries(CHANCE).map(([table, left]) => [
    table,
    `SELECT to_jsonb(t)${left} AS row FROM auth.${table} t ORDER BY 1`,
  ])
  const rows = await readTables(directUrl, Object.fromEntries(selects))
  const schemas = await runSql(directUrl, `SELECT nspname AS name FROM pg_namespace WHERE nspname ~ '^auth' ORDER BY 1`)
  return { rows, schemas }
}

/** Changes at the source between two runs. */
const MEANWHILE = `
  UPDATE auth.users SET raw_user_meta_data = '{"name": "Another"}' WHERE email LIKE 'plain.%';
  DELETE FROM public.notes;
  DELETE FROM auth.users WHERE email LIKE 'invited.%';
  DELETE FROM auth.sessions WHERE id IN (SELECT id FROM auth.sessions ORDER BY id LIMIT 3);
  INSERT INTO auth.users (id, email) VALUES ('11111111-1111-4111-8111-111111111111', 'new@example.com')`

type Side = 'source' | 'target'

/** Imports by a connection that is cut at a statement. */
async function importBy(app: ImportingApp, side: Side, cutAt?: number) {
  const url = side === 'source' ? app.restored.database.url : app.deps.config.database.migrationUrl
  const wire = await openWire(url, cutAt)
  const [result] = await Promise.allSettled([app.run({ [side]: wire.url })])
  const statements = wire.statements()
  await wire.close()
  return { status: result.status, statements }
}

/** The steps before the run that is cut. */
const FIRST = async () => {}
const LATER = async (app: ImportingApp) => {
  await app.run()
  await runSql(app.restored.database.superuserUrl, MEANWHILE)
}

it.each<{ run: string; prepare: (app: ImportingApp) => Promise<void>; side: Side }>([
  { run: 'a first run', prepare: FIRST, side: 'source' },
  { run: 'a first run', prepare: FIRST, side: 'target' },
  { run: 'a later run', prepare: LATER, side: 'source' },
  { run: 'a later run', prepare: LATER, side: 'target' },
])(
  '$run that was killed at a statement to the $side has done nothing, and the next one ends like an uninterrupted one',
  {
    timeout: HOURS_MS,
  },
  async ({ prepare, side }) => {
    const open = async () => {
      const app = await openBeside(await restore('v2.196.0'))
      await prepare(app)
      return app
    }
    const whole = await open()
    const { status, statements } = await importBy(whole, side)
    expect(status).toBe('fulfilled')
    const expected = await readRows(whole)
    const length = CUTS === 'all' ? statements : Number(CUTS)
    for (let number = 1; number <= length; number += 1) {
      const cutAt = Math.ceil((number * statements) / length)
      const app = await open()
      const before = await readRows(app)
      const { status: cut } = await importBy(app, side, cutAt)
      // The last statement commits even if its answer is lost.
      if (cut === 'rejected' && cutAt < statements - 1) expect([cutAt, await readRows(app)]).toEqual([cutAt, before])
      await app.run()
      expect([cutAt, await readRows(app)]).toEqual([cutAt, expected])
    }
  },
)
