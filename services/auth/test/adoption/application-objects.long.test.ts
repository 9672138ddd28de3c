import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { addApp } from '../authenticator-app.ts'
import { outcomeOf } from '../bodies.ts'
import { OPERATOR } from '../forged-token.ts'
import { type MailApp, openMailApp } from '../mail-app.ts'
import { adopt, type Restored, restore, restoreAdopted } from './adopted-app.ts'
import { runSql, settingsFor, VERSIONS } from './restored-database.ts'

// The application objects of each database. A trigger of `users` fills `public.profiles`, and deleting a user deletes the
// profile. The policies of `public.notes` compare the owner and read `auth.mfa_factors`. `public.people` is a view.

const PASSWORD = 'correct horse battery'
const NOTE = "INSERT INTO public.notes (body) VALUES ('mine') RETURNING owner, body"

/** Runs a statement for a user, as PostgREST with a verified token. @returns its rows, or the error */
async function runAs({ database }: Restored, sub: string | undefined, aal: string, statement: string) {
  const client = new pg.Client({ connectionString: database.superuserUrl })
  await client.connect()
  try {
    await client.query('SET ROLE authenticated')
    const claims = JSON.stringify({ sub, role: 'authenticated', aal })
    await client.query("SELECT set_config('request.jwt.claims', $1, false)", [claims])
    return (await client.query<Record<string, unknown>>(statement)).rows
  } catch (error) {
    return String(error)
  } finally {
    await client.end()
  }
}

const factorsOf = (id: string | undefined) =>
  `SELECT DISTINCT user_id, factor_type FROM auth.mfa_factors WHERE user_id = '${id}'`
const idOf = ({ database }: Restored, name: string) => database.manifest.users.find((user) => user.name === name)?.id

/** Tries what the application objects allow. There are no notes before and after it. */
async function tryApplicationObjects(restored: Restored) {
  const { superuserUrl } = restored.database
  const [plain, totp, other] = ['plain', 'totp', 'mixed'].map((name) => idOf(restored, name))
  const asPlain = (statement: string) => runAs(restored, plain, 'aal1', statement)
  const asOther = (statement: string) => runAs(restored, other, 'aal1', statement)
  await runSql(superuserUrl, 'DELETE FROM public.notes')
  const outcomes = {
    'writes a note': await asPlain(NOTE),
    'changes the note': await asPlain("UPDATE public.notes SET body = 'new' RETURNING body"),
    'reads the note': await asPlain('SELECT owner, body FROM public.notes'),
    'reads no note of others': await asOther('SELECT owner, body FROM public.notes'),
    'changes no note of others': await asOther("UPDATE public.notes SET body = '' RETURNING body"),
    'writes no note for others': await asOther(`INSERT INTO public.notes (owner) VALUES ('${plain}')`),
    'needs a second factor': await runAs(restored, totp, 'aal1', NOTE),
    'has a second factor': await runAs(restored, totp, 'aal2', NOTE),
    'writes no note for nobody': await runAs(restored, undefined, 'aal1', NOTE),
    'reads the own factor': await runAs(restored, totp, 'aal1', factorsOf(totp)),
    'reads no factor of others': await asPlain('SELECT user_id FROM auth.mfa_factors'),
    'changes the own profile': await asPlain('UPDATE public.profiles SET created = created RETURNING id'),
    'reads no user': await asPlain('SELECT id FROM auth.users'),
    'keeps a user with notes': await refusalOf(superuserUrl, `DELETE FROM auth.users WHERE id = '${plain}'`),
    'shows people': await runSql(superuserUrl, `SELECT id, name FROM public.people WHERE id = '${plain}'`),
  }
  await runSql(superuserUrl, 'DELETE FROM public.notes')
  return { outcomes, plain, totp }
}

const refusalOf = (url: string, statement: string) => runSql(url, statement).catch(String)

/** Opens the service in the profile compatible, with the secret of the operator's token. */
async function open({ database, deps }: Restored): Promise<MailApp> {
  const settings = {
    ...settingsFor(database),
    AUTH_PROFILE: 'compatible',
    AUTH_DB_ROLE: '',
    AUTH_JWT_SECRET: 'a secret of at least 32 bytes, for tests',
  }
  const test = await openMailApp(settings, {
    database: { ...database, entryUrl: database.url, directUrl: database.url },
    replace: () => ({ now: deps.now }),
  })
  onTestFinished(() => test.close())
  return test
}

const refusedBy = (policy: string) => `error: new row violates row-level security policy "${policy}" for table "notes"`

describe.each(VERSIONS)('the application objects of an adopted database of %s', (version) => {
  it('allow what they allowed before: policies, foreign keys and views', async () => {
    const restored = await restore(version)
    const before = await tryApplicationObjects(restored)
    const { plain, totp } = before
    expect(before.outcomes).toEqual({
      'writes a note': [{ owner: plain, body: 'mine' }],
      'changes the note': [{ body: 'new' }],
      'reads the note': [{ owner: plain, body: 'new' }],
      'reads no note of others': [],
      'changes no note of others': [],
      'writes no note for others': 'error: new row violates row-level security policy for table "notes"',
      'needs a second factor': refusedBy('second_factor'),
      'has a second factor': [{ owner: totp, body: 'mine' }],
      'writes no note for nobody': 'error: new row violates row-level security policy for table "notes"',
      'reads the own factor': [{ user_id: totp, factor_type: 'totp' }],
      // Versions before 2.151 have no row level security on this table.
      'reads no factor of others': expect.any(Array),
      'changes the own profile': [{ id: plain }],
      'reads no user': 'error: permission denied for table users',
      'keeps a user with notes': expect.stringContaining('violates foreign key constraint "notes_owner_fkey"'),
      'shows people': [{ id: plain, name: 'Plain Person' }],
    })
    await adopt(restored)
    expect(await tryApplicationObjects(restored)).toEqual(before)
  })

  it('keep their rights on the tables whose names the service takes over', async () => {
    const restored = await restore(version)
    const { superuserUrl } = restored.database
    await runSql(
      superuserUrl,
      `GRANT SELECT, UPDATE ON auth.refresh_tokens TO service_role WITH GRANT OPTION;
       GRANT SELECT ON auth.audit_log_entries, auth.refresh_tokens_id_seq TO service_role`,
    )
    const readRights = () =>
      runSql(
        superuserUrl,
        `SELECT relname, privilege_type, is_grantable FROM pg_class, aclexplode(relacl)
         WHERE relnamespace = 'auth'::regnamespace AND grantee = 'service_role'::regrole ORDER BY 1, 2`,
      )
    const before = await readRights()
    expect(before).toContainEqual({ relname: 'refresh_tokens', privilege_type: 'SELECT', is_grantable: true })
    await adopt(restored)
    expect(await readRights()).toEqual(before)
  })

  it('see what the service writes, in any profile: users at once, factors, and deleted users', async () => {
    const restored = await restoreAdopted(version)
    const { superuserUrl } = restored.database
    const test = await open(restored)
    const clock = { now: restored.deps.now, advance: () => {} }
    const email = 'asked@example.com'
    expect(outcomeOf(await test.post('/otp', { email }))).toBe(200)
    expect(await runSql(superuserUrl, `SELECT email FROM public.profiles WHERE email = '${email}'`)).toEqual([
      { email },
    ])

    const answer = await test.post('/signup', { email: 'new@example.com', password: PASSWORD })
    const { access_token: token, user } = answer.json()
    const noteAt = (aal: string) => runAs(restored, user.id, aal, NOTE)
    const note = [{ owner: user.id, body: 'mine' }]
    expect(await noteAt('aal1')).toEqual(note)
    const { app, headers } = await addApp({ ...test, clock }, { authorization: `Bearer ${token}` })
    expect([await noteAt('aal1'), await noteAt('aal2')]).toEqual([refusedBy('second_factor'), note])
    const unenrolled = await test.app.inject({ method: 'DELETE', url: `/factors/${app.factorId}`, headers })
    expect([unenrolled.statusCode, await noteAt('aal1')]).toEqual([200, note])

    const deletion = () => test.app.inject({ method: 'DELETE', url: `/admin/users/${user.id}`, headers: OPERATOR })
    const refused = await deletion()
    expect([refused.statusCode, refused.json()]).toEqual([
      500,
      {
        code: '23503',
        message: expect.stringContaining('violates foreign key constraint "notes_owner_fkey" on table "notes"'),
        detail: expect.stringContaining(`(id)=(${user.id})`),
      },
    ])
    await runSql(superuserUrl, 'DELETE FROM public.notes')
    expect((await deletion()).statusCode).toBe(200)
    expect(await runSql(superuserUrl, `SELECT id FROM public.profiles WHERE id = '${user.id}'`)).toEqual([])
  })
})
