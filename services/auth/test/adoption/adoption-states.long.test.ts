import { readFileSync } from 'node:fs'
import { openWire } from '@trestle/testing/cut-wire.ts'
import pg from 'pg'
import { expect, it } from 'vitest'
import { diagramsOf } from '../../../../scripts/layout/state-diagrams.ts'
import { adoptCommand } from '../../src/adoption/commands/adopt.ts'
import { adoptDatabase } from '../../src/adoption/use-cases/adopt-database.ts'
import { forgetImport } from '../../src/adoption/use-cases/import-database.ts'
import { forgetAdoption, undoAdoption } from '../../src/adoption/use-cases/undo-adoption.ts'
import { createQuietDeps } from '../../src/commands/operator-deps.ts'
import { adopt, type Restored, restore } from './adopted-app.ts'
import { openBeside } from './imported-app.ts'
import { runSql } from './restored-database.ts'

const [adoption, imported] = diagramsOf(readFileSync(new URL('../../src/adoption/README.md', import.meta.url), 'utf8'))

const STATES = ['none', 'begun', 'staged', 'switched', 'finished', 'forgotten'] as const
type State = (typeof STATES)[number]

/** Returns the state according to the table in the README. */
async function readState({ database: { superuserUrl: url } }: Restored): Promise<State> {
  const [there] = await runSql<{ record: boolean; staging: boolean; own: boolean }>(
    url,
    `SELECT to_regclass('auth_before_trestle.adoption') IS NOT NULL AS record,
       to_regclass('auth_adopting.refresh_tokens') IS NOT NULL AS staging,
       to_regclass('auth.trestle_migrations') IS NOT NULL AS own`,
  )
  if (there?.record !== true) return there?.own === true ? 'forgotten' : 'none'
  const [record] = await runSql<{ switched: boolean; finished: boolean }>(
    url,
    `SELECT switched_at IS NOT NULL AS switched, finished_at IS NOT NULL AS finished FROM auth_before_trestle.adoption`,
  )
  if (record?.finished) return 'finished'
  if (record?.switched) return 'switched'
  return there.staging ? 'staged' : 'begun'
}

/** Runs an adoption by a connection that is cut at a statement. */
async function adoptBy({ database, deps }: Restored, cutAt?: number) {
  const wire = await openWire(database.url, cutAt)
  const config = { ...deps.config, database: { ...deps.config.database, migrationUrl: wire.url } }
  const [result] = await Promise.allSettled([adoptDatabase({ ...deps, config }, { force: false, report: () => {} })])
  const statements = wire.statements()
  await wire.close()
  return { result, statements }
}

/** Runs an adoption that fails after the given number of reported lines. It loses uncommitted changes. */
async function adoptUntil({ deps }: Restored, lines: number): Promise<void> {
  let left = lines
  const report = () => {
    left -= 1
    if (left === 0) throw new Error('killed')
  }
  await expect(adoptDatabase(deps, { force: false, report })).rejects.toThrow('killed')
}

/** Signs in as the old server does: as the owner, with `auth` in the search path. */
async function signInAtOldServer({ database: { url } }: Restored): Promise<void> {
  const client = new pg.Client({ connectionString: `${url}?options=-csearch_path%3Dauth` })
  await client.connect()
  try {
    await client.query(`
      BEGIN;
      INSERT INTO audit_log_entries (created_at, id, instance_id, ip_address, payload)
        VALUES (now(), gen_random_uuid(), '00000000-0000-0000-0000-000000000000', '192.0.2.1', '{"action": "login"}');
      UPDATE users SET last_sign_in_at = now();
      ROLLBACK`)
  } finally {
    await client.end()
  }
}

it('an adoption goes through the arrows of its diagram, and through no others', async () => {
  const restored = await restore('v2.196.0')
  const statements = new Map<State, number>()
  const run = async () => {
    const state = await readState(restored)
    const run = await adoptBy(restored)
    statements.set(state, run.statements)
    if (run.result.status === 'rejected') throw run.result.reason
  }
  const kill = async () => {
    const state = await readState(restored)
    if (state === 'none') return adoptUntil(restored, 1)
    if (state === 'begun') return adoptUntil(restored, 2)
    // The last statements copy the audit log.
    const { result } = await adoptBy(restored, state === 'staged' ? (statements.get(state) ?? 0) - 2 : 2)
    expect(result.status).toBe('rejected')
  }
  const undo = () => undoAdoption(restored.deps, async () => true)
  const events = {
    'a run ends': run,
    'a run is killed': kill,
    'adopt --undo': undo,
    'the old service sends a request': () => signInAtOldServer(restored),
    'adopt --forget': () => forgetAdoption(restored.deps, async () => true),
  }
  const reach = async (wanted: State) => {
    if ((await readState(restored)) === wanted) return
    if ((await readState(restored)) !== 'none') await undo()
    const steps = STATES.slice(0, STATES.indexOf(wanted))
    for (const step of steps) await (step === 'switched' ? run : kill)()
  }
  const cells: Record<string, readonly string[]> = {}
  const arrows = new Set<string>()
  for (const from of STATES) {
    for (const [name, happen] of Object.entries(events)) {
      await reach(from)
      const [{ status }] = await Promise.allSettled([happen()])
      const to = await readState(restored)
      cells[name] = [...(cells[name] ?? []), status === 'rejected' ? 'refused' : to === from ? 'ignored' : to]
      // A run takes several steps before the switch. Only killed runs show each step.
      if (to !== from && (name !== 'a run ends' || from === 'switched')) arrows.add(`${from} --> ${to}`)
      if (status === 'rejected') expect([from, name, to]).toEqual([from, name, from])
    }
  }
  expect(cells).toEqual({
    'a run ends': ['finished', 'finished', 'finished', 'finished', 'ignored', 'refused'],
    'a run is killed': ['begun', 'staged', 'switched', 'ignored', 'ignored', 'ignored'],
    'adopt --undo': ['refused', 'none', 'none', 'none', 'none', 'refused'],
    'the old service sends a request': ['ignored', 'ignored', 'ignored', 'refused', 'refused', 'refused'],
    'adopt --forget': ['refused', 'refused', 'refused', 'refused', 'forgotten', 'refused'],
  })
  expect([...arrows].sort()).toEqual([...(adoption?.arrows.keys() ?? [])].sort())
}, 240_000)

it('an import goes through the arrows of its diagram, and through no others', async () => {
  const [restored, other] = await Promise.all([restore('v2.196.0'), restore('v2.101.0')])
  const app = await openBeside(restored)
  const url = app.database.directUrl
  const readImport = async () => {
    const [row] = await runSql<{ there: boolean }>(
      url,
      `SELECT to_regclass('auth_imported.source') IS NOT NULL AS there`,
    )
    return row?.there === true ? 'imported' : 'none'
  }
  const killed = async () => {
    const wire = await openWire(app.deps.config.database.migrationUrl, 20)
    await expect(app.run({ target: wire.url })).rejects.toThrow()
    await wire.close()
  }
  const events = [
    ['a run is killed', killed],
    ['import --forget', () => forgetImport(app.deps, async () => true)],
    ['a run', () => app.run()],
    ['a run', () => app.run()],
    ['a run is killed', killed],
    ['a run from another source', () => app.run({ source: other.database.url })],
    ['import --forget', () => forgetImport(app.deps, async () => true)],
  ] as const
  const seen: string[] = []
  const arrows = new Set<string>()
  for (const [name, happen] of events) {
    const from = await readImport()
    const [{ status }] = await Promise.allSettled([happen()])
    const to = await readImport()
    seen.push(`${name}: ${from}, ${status === 'rejected' ? 'refused' : to}`)
    if (from !== to || name === 'a run') arrows.add(`${from} --> ${to}`)
  }
  expect(seen).toEqual([
    'a run is killed: none, none',
    'import --forget: none, refused',
    'a run: none, imported',
    'a run: imported, imported',
    'a run is killed: imported, imported',
    'a run from another source: imported, refused',
    'import --forget: imported, none',
  ])
  expect([...arrows].sort()).toEqual([...(imported?.arrows.keys() ?? [])].sort())
})

/** Returns the lines that `auth adopt --check` prints. */
async function check({ deps }: Restored): Promise<readonly string[]> {
  const lines: string[] = []
  const conversation = { print: (line: string) => lines.push(line), ask: async () => 'n' }
  await adoptCommand(() => createQuietDeps(deps.config), conversation).parseAsync(['--check'], { from: 'user' })
  return lines
}

it('an error after the switch says that this service has taken over, and adopt --check that the audit log is not copied yet', async () => {
  const restored = await restore('v2.43.1')
  const { superuserUrl } = restored.database
  await runSql(
    superuserUrl,
    `CREATE FUNCTION public.fill_disk() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
       IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE object_identity LIKE '%.trestle_read_payload(%') THEN
         RAISE disk_full USING MESSAGE = 'No space left on device';
       END IF;
     END $$;
     CREATE EVENT TRIGGER fill_disk ON ddl_command_end EXECUTE FUNCTION public.fill_disk()`,
  )
  await expect(adopt(restored)).rejects.toThrow(
    new Error(
      'No space left on device\nthis service has taken over: do not start the old one again. Mend the cause, run auth adopt again, which does what is left, and start this service',
    ),
  )
  const version = `migration  ${restored.database.manifest.migration}`
  expect(await check(restored)).toEqual([
    version,
    'unfinished this service has taken over, and its audit log is not copied yet: do not start the old one, run auth adopt again, and start this service',
  ])
  await runSql(superuserUrl, 'DROP EVENT TRIGGER fill_disk')
  await adopt(restored)
  expect(await check(restored)).toEqual([version, 'ok         the database is adopted already: start the service'])
})
