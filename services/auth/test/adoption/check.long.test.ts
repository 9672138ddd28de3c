import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { describeAdmins } from '../../src/adoption/report.ts'
import { adoptDatabase } from '../../src/adoption/use-cases/adopt-database.ts'
import { checkAdoption } from '../../src/adoption/use-cases/check-adoption.ts'
import { importDatabase } from '../../src/adoption/use-cases/import-database.ts'
import { doctor } from '../../src/commands/doctor.ts'
import { type AuthConfig, loadAuthConfig } from '../../src/config.ts'
import { toEncryptionKeys } from '../../src/deps.ts'
import { migrateToLatest } from '../../src/migrations.ts'
import { adopt, openAdopted, prepare, restore, restoreAdopted } from './adopted-app.ts'
import { lostSessions, type RestoredDatabase, runSql, settingsFor, VERSIONS } from './restored-database.ts'

/** Tables of some versions that the check does not count as served. */
const UNSERVED = /^(sso|saml|oauth)_/

/** The number of users with a passkey, a WebAuthn factor or a factor by SMS. */
const countAskedAgain = ({ manifest }: RestoredDatabase) =>
  manifest.users.filter(({ name, passkey, webauthn }) => passkey || webauthn || name === 'phone-factor').length

describe.each(VERSIONS)('adopt --check on %s', (version) => {
  it('says what the database has, whom it loses, and changes nothing', async () => {
    const { database, deps } = await restore(version)
    const { rows, migration } = database.manifest
    const served = Object.entries(rows).filter(([table]) => !UNSERVED.test(table))
    const unserved = Object.entries(rows).filter(([table, count]) => UNSERVED.test(table) && count > 0)
    const check = await checkAdoption(deps, { force: false })
    expect(check).toEqual({
      version: migration,
      earlierRun: 'none',
      obstacles: [],
      doubts: [],
      encoding: 'UTF8',
      rows: new Map(served),
      notYetServed: new Map(unserved),
      losses: [
        { what: 'users who sign in only by sso, which this service does not serve', count: 2 },
        ...lostSessions(database, 'they go on only after adopt --undo'),
      ],
      askedAgain: countAskedAgain(database),
      tokensWithoutSession: 0,
      sharedEmails: [],
      admins: [],
      otherInstances: { count: 0, ids: [] },
      dependents: [],
      published: [],
      publications: [],
      identityReaders: [],
      openTriggers: { path: 'auth', functions: [] },
      inhabitants: [],
      seconds: { prepare: 6, pause: 6 },
    })
  })
})

it('says the same after adopt --prepare, which makes nothing that it takes for something of others', async () => {
  const restored = await restore('v2.196.0')
  const before = await checkAdoption(restored.deps, { force: false })
  await prepare(restored)
  expect(await checkAdoption(restored.deps, { force: false })).toEqual({ ...before, earlierRun: 'begun' })
})

it('asks a database that allows nothing but reading, and says the same, but that triggers were not tried', async () => {
  const { database, deps } = await restore('v2.196.0')
  await runSql(
    database.superuserUrl,
    `INSERT INTO auth.audit_log_entries (instance_id, id, payload, created_at)
     VALUES (gen_random_uuid(), gen_random_uuid(), '{"action":"x\\u0000"}', now())`,
  )
  const writable = await checkAdoption(deps, { force: false })
  expect(writable.losses).toHaveLength(3)
  const name = new URL(database.superuserUrl).pathname.slice(1)
  await runSql(database.superuserUrl, `ALTER DATABASE ${name} SET default_transaction_read_only = on`)
  const doubts = [
    'the triggers on auth.users were not tried: the database allows reading alone: run this on the primary',
  ]
  expect(await checkAdoption(deps, { force: false })).toEqual({ ...writable, doubts })
})

it('names users whose role makes them admins, who are admins here too', async () => {
  const { database, deps } = await restore('v2.196.0')
  const id = database.manifest.users[0]?.id ?? ''
  await runSql(database.superuserUrl, `UPDATE auth.users SET role = 'service_role' WHERE id = '${id}'`)
  const { admins } = await checkAdoption(deps, { force: false })
  expect(admins).toEqual([{ role: 'service_role', count: 1, ids: [id] }])
  expect(admins.map(describeAdmins)).toEqual([
    `admin      1 users have the role service_role, which makes them admins: ${id}`,
  ])
  await adopt({ database, deps })
  const { app, post, user } = await openAdopted({ database, deps })
  const session = user('plain')?.sessions.at(-1)
  const refreshed = await post('/token?grant_type=refresh_token', { refresh_token: session?.refresh_token })
  const headers = { authorization: `Bearer ${refreshed.json().access_token}` }
  expect((await app.inject({ url: '/admin/users', headers })).statusCode).toBe(200)
})

it('names what depends on a table that moves, emails that several users share, and what else is in the schema', async () => {
  const { database, deps } = await restore('v2.196.0')
  await runSql(
    database.superuserUrl,
    `CREATE VIEW public.tokens AS SELECT token FROM auth.refresh_tokens;
     CREATE TABLE public.seen (id uuid REFERENCES auth.flow_state);
     CREATE FUNCTION public.entries() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM auth.audit_log_entries); END';
     CREATE TABLE auth.own (id int);
     UPDATE auth.users SET email = upper(email) WHERE email LIKE 'plain.%';
     INSERT INTO auth.users (id, email) SELECT gen_random_uuid(), lower(email) FROM auth.users WHERE email LIKE 'PLAIN.%'`,
  )
  const { dependents, inhabitants, sharedEmails } = await checkAdoption(deps, { force: false })
  expect({ dependents, inhabitants, sharedEmails }).toEqual({
    dependents: [
      { object: 'foreign key seen_id_fkey of public.seen', table: 'flow_state' },
      { object: 'function public.entries()', table: 'audit_log_entries' },
      { object: 'view public.tokens', table: 'refresh_tokens' },
    ],
    inhabitants: ['own'],
    sharedEmails: [database.manifest.users[0]?.email],
  })
})

const DEPENDENTS = [
  [
    'a function with quoted names',
    `CREATE FUNCTION public.quoted() RETURNS void LANGUAGE plpgsql AS 'BEGIN DELETE FROM "auth" . "refresh_tokens"; END'`,
    { object: 'function public.quoted()', table: 'refresh_tokens' },
  ],
  [
    'a function with the schema in a search path of its own',
    `CREATE FUNCTION public.pathed() RETURNS bigint LANGUAGE sql SET search_path = public, auth AS 'SELECT count(*) FROM flow_state'`,
    { object: 'function public.pathed()', table: 'flow_state' },
  ],
  [
    'a function that is parsed when it is made',
    `CREATE FUNCTION public.parsed() RETURNS bigint LANGUAGE sql
       BEGIN ATOMIC SELECT count(*) FROM auth.audit_log_entries; END`,
    { object: 'function public.parsed()', table: 'audit_log_entries' },
  ],
  [
    'a function that returns rows',
    `CREATE FUNCTION public.returned() RETURNS SETOF auth.one_time_tokens LANGUAGE sql AS 'SELECT NULL::auth.one_time_tokens'`,
    { object: 'function public.returned()', table: 'one_time_tokens' },
  ],
  [
    'a function with a comment in a name',
    `CREATE FUNCTION public.commented() RETURNS void LANGUAGE plpgsql AS 'BEGIN DELETE FROM auth./* x */refresh_tokens; END'`,
    { object: 'function public.commented()', table: 'refresh_tokens' },
  ],
  [
    'a domain over its rows',
    'CREATE DOMAIN public.entry AS auth.refresh_tokens',
    { object: 'type public.entry', table: 'refresh_tokens' },
  ],
  [
    'a column of the type of its rows',
    'CREATE TABLE public.kept (entry auth.refresh_tokens)',
    { object: 'column entry of table public.kept', table: 'refresh_tokens' },
  ],
  [
    'a column of several of its rows',
    'CREATE TABLE public.listed (entries auth.refresh_tokens[])',
    { object: 'column entries of table public.listed', table: 'refresh_tokens' },
  ],
  [
    'a table that inherits',
    'CREATE TABLE public.child () INHERITS (auth.audit_log_entries)',
    { object: 'table public.child', table: 'audit_log_entries' },
  ],
  [
    'a publication',
    'CREATE PUBLICATION tokens FOR TABLE auth.refresh_tokens',
    { object: 'publication tokens', table: 'refresh_tokens' },
  ],
  [
    'a rule of the table',
    'CREATE RULE quiet AS ON INSERT TO auth.audit_log_entries DO INSTEAD NOTHING',
    { object: 'rule quiet on auth.audit_log_entries', table: 'audit_log_entries' },
  ],
  [
    'a foreign key of a table in the schema',
    'CREATE TABLE auth.own (id uuid REFERENCES auth.flow_state)',
    { object: 'foreign key own_id_fkey of auth.own', table: 'flow_state' },
  ],
  [
    'a default that takes its numbers',
    "CREATE TABLE public.numbered (id bigint DEFAULT nextval('auth.refresh_tokens_id_seq'))",
    { object: 'default value for column id of table public.numbered', table: 'refresh_tokens' },
  ],
] as const

describe('the dependents of tables that move', () => {
  const drops: (() => Promise<void>)[] = []
  let dependents: Awaited<ReturnType<typeof checkAdoption>>['dependents'] = []
  beforeAll(async () => {
    const { database, deps } = await restore('v2.196.0', (drop) => drops.push(drop))
    for (const [, statement] of DEPENDENTS) await runSql(database.superuserUrl, statement)
    ;({ dependents } = await checkAdoption(deps, { force: false }))
  })
  afterAll(() => Promise.all(drops.map((drop) => drop())))

  it.each(DEPENDENTS)('names what depends on a table that moves: %s', (_what, _statement, dependent) => {
    expect(dependents.filter(({ object }) => object === dependent.object)).toEqual([dependent])
  })

  it('are all that the check names', () => {
    expect(dependents.map(({ object }) => object).sort()).toEqual(DEPENDENTS.map(([, , { object }]) => object).sort())
  })
})

it('says nothing of partitions of a table that moves, whose rows an adoption copies', async () => {
  const restored = await restore('v2.196.0')
  const { superuserUrl, manifest } = restored.database
  await runSql(
    superuserUrl,
    `ALTER TABLE auth.audit_log_entries RENAME TO entries_before;
     CREATE TABLE auth.audit_log_entries (LIKE auth.entries_before) PARTITION BY HASH (id);
     CREATE TABLE auth.entries_0 PARTITION OF auth.audit_log_entries FOR VALUES WITH (MODULUS 2, REMAINDER 0);
     CREATE TABLE auth.entries_1 PARTITION OF auth.audit_log_entries FOR VALUES WITH (MODULUS 2, REMAINDER 1);
     INSERT INTO auth.audit_log_entries SELECT * FROM auth.entries_before;
     DROP TABLE auth.entries_before;
     ALTER TABLE auth.audit_log_entries OWNER TO supabase_auth_admin`,
  )
  const { obstacles, dependents } = await checkAdoption(restored.deps, { force: false })
  expect({ obstacles, dependents }).toEqual({ obstacles: [], dependents: [] })
  await adopt(restored)
  const entries = 'SELECT count(*)::int AS count FROM auth.audit_log_entries'
  expect(await runSql(superuserUrl, entries)).toEqual([{ count: manifest.rows.audit_log_entries }])
})

it('says which secrets no key opens', async () => {
  const { database, deps } = await restore('v2.196.0-encrypted')
  const { AUTH_SECURITY_DATABASE_ENCRYPTION_KEY: _key, ...settings } = settingsFor(database)
  const config = loadAuthConfig({ ...settings, AUTH_DB_PREPARED: 'true' })
  const { losses } = await checkAdoption(
    { config, encryptionKeys: toEncryptionKeys(config), now: deps.now },
    { force: false },
  )
  expect(losses.map(({ what }) => what)).toEqual([
    'users who sign in only by sso, which this service does not serve',
    'users whose password is encrypted with the key key-1, which no setting has',
    'authenticator apps whose secret is encrypted with the key key-1, which no setting has',
    'sessions whose key is encrypted with the key key-1, which no setting has',
    'sessions of OAuth clients, which this service does not serve: they go on only after adopt --undo',
    'provider custom:fixture: create it again afterwards',
  ])
})

describe('a database that cannot be adopted', () => {
  it.each([
    [
      'a version that is too old',
      `DELETE FROM auth.schema_migrations WHERE version > '20220101000000'`,
      'is older than supabase/auth 2.40: start a later version once, which migrates the database',
    ],
    [
      'a version that is not known',
      `INSERT INTO auth.schema_migrations VALUES ('20990101000000')`,
      'migration 20990101000000 is newer than supabase/auth 2.196, which this release knows: --force takes it all the same',
    ],
    [
      'another owner',
      'ALTER TABLE auth.users OWNER TO postgres',
      'supabase_auth_admin does not own the tables: connect as postgres',
    ],
    [
      'no tables of supabase/auth',
      'DROP TABLE auth.schema_migrations',
      'the schema auth has no tables of supabase/auth',
    ],
  ])('is refused with the reason: %s', async (_case, change, message) => {
    const { database, deps } = await restore('v2.101.0')
    await runSql(database.superuserUrl, change)
    const { obstacles } = await checkAdoption(deps, { force: false })
    expect(obstacles.join('\n')).toContain(message)
    await expect(adoptDatabase(deps, { force: false, report: () => {} })).rejects.toThrow(message)
  })

  it.each([
    ['schema', 'REVOKE ALL ON SCHEMA auth FROM PUBLIC'],
    ['version', 'GRANT USAGE ON SCHEMA auth TO PUBLIC; REVOKE ALL ON auth.schema_migrations FROM PUBLIC'],
  ])('names its owner to a user who may not read its %s, in adopt as in import', async (_what, revoke) => {
    const { database, deps } = await restore('v2.196.0')
    const role = `outsider_${randomUUID().slice(0, 8)}`
    await runSql(database.superuserUrl, `CREATE ROLE ${role} LOGIN PASSWORD 'root'; ${revoke}`)
    onTestFinished(() => runSql(database.superuserUrl, `DROP ROLE ${role}`).then(() => {}))
    const url = Object.assign(new URL(database.url), { username: role }).href
    const { config } = deps
    const outsider = { ...deps, config: { ...config, database: { ...config.database, migrationUrl: url } } }
    const reason = `${role} does not own the tables: connect as supabase_auth_admin`
    expect((await checkAdoption(outsider, { force: false })).obstacles).toEqual([reason])
    await expect(adoptDatabase(outsider, { force: false, report: () => {} })).rejects.toThrow(reason)
    await expect(importDatabase(deps, { url, schema: 'auth', force: false })).rejects.toThrow(
      `at the source, ${reason}`,
    )
  })

  it('is refused by the run that switches too, though it could be adopted when it was prepared', async () => {
    const restored = await restore('v2.196.0')
    await prepare(restored)
    await runSql(restored.database.superuserUrl, "INSERT INTO auth.schema_migrations VALUES ('20990101000000')")
    const reason =
      'migration 20990101000000 is newer than supabase/auth 2.196, which this release knows: --force takes it all the same'
    expect((await checkAdoption(restored.deps, { force: false })).obstacles).toEqual([reason])
    await expect(adopt(restored)).rejects.toThrow(new Error(reason))
    expect((await adoptDatabase(restored.deps, { force: true, report: () => {} })).losses).toEqual([])
  })

  it('is one that was adopted before, which stays as it is', async () => {
    const restored = await restore('v2.101.0')
    await adopt(restored)
    const { version, earlierRun, obstacles } = await checkAdoption(restored.deps, { force: false })
    expect([version, earlierRun, obstacles]).toEqual([restored.database.manifest.migration, 'finished', []])
    expect(await adopt(restored)).toEqual({
      version: restored.database.manifest.migration,
      switchMs: undefined,
      leftProviders: [],
      losses: [],
    })
  })
})

it('auth doctor names adopt --check where only supabase/auth has used the database, instead of what an adoption makes', async () => {
  const { deps } = await restore('v2.196.0')
  const lines: string[] = []
  const isHealthy = await doctor(
    () => deps.config,
    (line) => lines.push(line),
  )
  const names = ['migrations', 'signing keys', 'adoption', 'dead jobs', 'database', 'clock']
  expect([isHealthy, lines.filter((line) => names.some((name) => line.includes(` ${name}: `))).sort()]).toEqual([
    false,
    [
      'ok    clock: agrees with that of the database',
      'ok    database: answers',
      'ok    migration database: answers',
      'wrong adoption: this is a database of supabase/auth, so not checked: migrations, signing keys, phone numbers, dead jobs; run: auth adopt --check',
    ],
  ])
})

it('refuses to start as a role from which the tables hide their rows', async () => {
  const restored = await restoreAdopted('v2.196.0')
  const { config } = restored.deps
  const database = { ...config.database, role: 'auth_service' }
  await expect(migrateToLatest({ ...config, database })).rejects.toThrow(
    'AUTH_DB_ROLE is auth_service, from which the tables of supabase/auth hide their rows: unset it, the service works as supabase_auth_admin',
  )
  expect(await migrateToLatest(config)).toEqual([])
})

it('auth doctor counts the days, and the secrets that no key opens', async () => {
  const restored = await restore('v2.196.0-encrypted')
  const adoptionOf = async (config: AuthConfig) => {
    const lines: string[] = []
    await doctor(
      () => config,
      (line) => lines.push(line),
    )
    return lines.find((line) => line.includes('adoption'))
  }
  await adopt(restored)
  const { deps, database } = restored
  expect(await adoptionOf(deps.config)).toBe('ok    adoption: 0 days ago')
  await runSql(database.url, "UPDATE auth_before_trestle.adoption SET switched_at = now() - interval '31 days'")
  expect(await adoptionOf(deps.config)).toBe('ok    adoption: 31 days ago; auth adopt --forget drops the old tables')
  const security = { ...deps.config.security, encryptionKey: undefined }
  expect(await adoptionOf({ ...deps.config, security })).toMatch(
    /^wrong adoption: \d+ users whose password is encrypted with the key key-1, which no setting has, /,
  )
})
