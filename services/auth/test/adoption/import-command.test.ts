import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { importCommand } from '../../src/commands/import-database.ts'
import { type ImportingApp, openImporting } from './imported-app.ts'
import { runSql } from './restored-database.ts'

/** Runs `auth import …`: what it prints, and why it fails. */
async function runCommand({ deps }: ImportingApp, ...flags: readonly string[]) {
  const lines: string[] = []
  const command = importCommand(
    () => deps.config,
    (line) => lines.push(line),
  ).configureOutput({ writeErr: () => {} })
  const program = new Command().exitOverride().addCommand(command)
  const failure = await program.parseAsync(['import', ...flags], { from: 'user' }).then(
    () => undefined,
    (error: Error) => error.message,
  )
  return { lines, failure }
}

const TABLES = [
  ...['users', 'identities', 'sessions', 'mfa_amr_claims', 'mfa_factors', 'refresh_tokens', 'webauthn_credentials'],
  ...['one_time_tokens', 'flow_state', 'custom_oauth_providers', 'audit_log_entries'],
]
const row = (table: string) => expect.stringMatching(new RegExp(`^rows {7}${table}: \\d+ added, 0 changed, 0 deleted$`))
const SURROUNDINGS = [
  'not served sso_providers: 1 rows are not copied',
  'not served oauth_clients: 1 rows are not copied',
  'not served oauth_consents: 1 rows are not copied',
  'not copied the table of the foreign key notes_owner_fkey of public.notes',
  'not copied the table of the foreign key profiles_id_fkey of public.profiles',
  'lost       2 users who sign in only by sso, which this service does not serve',
]

describe('auth import', () => {
  it('says what became of each table, what is not copied and how long it took, and fails when somebody was held back', async () => {
    const app = await openImporting('v2.196.0')
    const { url, superuserUrl } = app.restored.database
    const took = expect.stringMatching(/^took {7}\d+\.\d s$/)
    expect(await runCommand(app, '--from-database', url)).toEqual({
      lines: ['migration  20260625000000', ...TABLES.map(row), ...SURROUNDINGS, took],
      failure: undefined,
    })
    const id = app.user('plain')?.id
    await runSql(app.database.directUrl, `UPDATE auth.users SET updated_at = now() WHERE id = '${id}'`)
    await runSql(superuserUrl, `UPDATE auth.users SET updated_at = now() WHERE id = '${id}'`)
    const failure =
      '1 of the users, flows and providers that have changed at the source were not taken: they stay as they are here'
    expect(await runCommand(app, '--from-database', url)).toEqual({
      lines: [
        'migration  20260625000000',
        ...TABLES.map((table) => `rows       ${table}: 0 added, 0 changed, 0 deleted`),
        ...SURROUNDINGS,
        `not taken  user ${id} has changed here since its import`,
        took,
      ],
      failure,
    })
    const { lines, failure: again } = await runCommand(app, '--from-database', url, '--json')
    expect(again).toBe(failure)
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      {
        migration: '20260625000000',
        superuser: null,
        tables: TABLES.map((table) => ({ table, added: 0, changed: 0, deleted: 0 })),
        held_back: [{ kind: 'user', id, reason: 'has changed here since its import' }],
        left_providers: [],
        shared_emails: [],
        losses: [{ what: 'users who sign in only by sso, which this service does not serve', count: 2 }],
        not_served: [
          { table: 'sso_providers', rows: 1 },
          { table: 'oauth_clients', rows: 1 },
          { table: 'oauth_consents', rows: 1 },
        ],
        foreign_keys: ['notes_owner_fkey of public.notes', 'profiles_id_fkey of public.profiles'],
        seconds: expect.any(Number),
      },
    ])
    expect(await runCommand(app, '--forget')).toEqual({
      lines: ['dropped what a further import needs'],
      failure: undefined,
    })
    expect((await runCommand(app, '--forget')).failure).toBe(
      'nothing was imported from another database, or its record was dropped before',
    )
  })

  it('refuses what it cannot read or write in one line, which does not show the password', async () => {
    const app = await openImporting('v2.196.0')
    const { url, superuserUrl } = app.restored.database
    const failureOf = async (...flags: readonly string[]) => {
      const { lines, failure } = await runCommand(app, ...flags)
      expect(lines).toEqual([])
      return failure
    }
    const from = (address: string) => failureOf('--from-database', address)
    expect(await failureOf()).toBe("error: required option '--from-database <url>' not specified")
    expect(await from('a secret')).toBe(
      'the address of the source is not a URL such as postgres://user:password@host:5432/database',
    )
    expect(await from(new URL('/nowhere', url).href)).toBe(
      'cannot connect to the source: database "nowhere" does not exist',
    )
    const { host, pathname } = new URL(url)
    expect(await from(`postgres://nobody:a-secret@${host}${pathname}`)).toBe(
      'cannot connect to the source: role "nobody" does not exist',
    )
    expect(await from('postgres://root:a-secret@127.0.0.1:1/auth')).toBe(
      'cannot connect to the source: connect ECONNREFUSED 127.0.0.1:1',
    )
    expect(await from(app.database.directUrl)).toBe(
      'the schema auth of the source has the tables of this service, not those of supabase/auth',
    )
    expect(await failureOf('--from-database', url, '--source-schema', 'public')).toBe(
      'the schema public of the source has no tables of supabase/auth',
    )
    await runSql(superuserUrl, `INSERT INTO auth.schema_migrations VALUES ('20990101000000')`)
    expect(await from(url)).toBe(
      'migration 20990101000000 is newer than supabase/auth 2.196, which this release knows: --force takes it all the same',
    )
    expect(await failureOf('--from-database', url, '--forget')).toMatch(/cannot be used with option/)
    const { failure } = await runCommand(app, '--from-database', url, '--force')
    expect(failure).toBeUndefined()
    await runSql(
      app.database.directUrl,
      `UPDATE auth_imported.source SET source = 'another'; DELETE FROM auth.trestle_migrations WHERE name LIKE '0022%'`,
    )
    expect(await from(url)).toMatch(/is newer than/)
    expect(await failureOf('--from-database', url, '--force')).toBe(
      'the schema auth of this service is not up to date: run auth migrate',
    )
  })

  it('warns of a superuser of the source, and reads it all the same', async () => {
    const app = await openImporting('v2.196.0')
    const { superuserUrl } = app.restored.database
    const [{ name } = { name: '' }] = await runSql<{ name: string }>(superuserUrl, 'SELECT current_user AS name')
    const { lines, failure } = await runCommand(app, '--from-database', superuserUrl)
    expect([lines[1], failure]).toEqual([
      `warning    ${name} is a superuser of the source: its owner of the tables suffices`,
      undefined,
    ])
    const [text = ''] = (await runCommand(app, '--from-database', superuserUrl, '--json')).lines
    expect(JSON.parse(text).superuser).toBe(name)
  })

  it('refuses another source than that of the run before, and a user from whom the rows are hidden', async () => {
    const app = await openImporting('v2.196.0')
    const { url, superuserUrl } = app.restored.database
    expect((await runCommand(app, '--from-database', url)).failure).toBeUndefined()
    await runSql(app.database.directUrl, `UPDATE auth_imported.source SET source = 'another'`)
    expect((await runCommand(app, '--from-database', url)).failure).toMatch(
      /^the users here came from another database \(another\), not from this one \(\d+ \d+ \w+ auth\): auth import --forget ends that import$/,
    )
    await runSql(superuserUrl, 'ALTER TABLE auth.users OWNER TO postgres')
    expect((await runCommand(app, '--from-database', url)).failure).toBe(
      'the source hides its rows from supabase_auth_admin: connect as postgres',
    )
  })
})
