import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { argon2i, hash as hashByReference } from 'argon2'
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import {
  anyId,
  anyTime,
  confirmedBody,
  grantErrorBody,
  outcomeOf,
  sessionBody,
  statusAndBody,
  userBody,
  wrongPassword,
} from '../../test/bodies.ts'
import { runUsers } from '../../test/run-users.ts'
import { createSignedUp } from '../../test/signed-up.ts'

const test = await openTestApp({ settings: { AUTH_EXTERNAL_PHONE_ENABLED: 'true' } })
const { app, deps, clock } = test
const folder = mkdtempSync(join(tmpdir(), 'users-'))
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await test.close()
})
beforeEach(() => deps.db.deleteFrom('users').execute())

const ARGON2I = await hashByReference('older', { type: argon2i, memoryCost: 4096, timeCost: 3, parallelism: 1 })
const BCRYPT = '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'
const SIGNER_KEY = 'jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=='

const users = (words: readonly string[], input: string | Buffer = '') => runUsers(test, words, input)
const ndjson = (...lines: readonly object[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('')
const importLines = (...lines: readonly object[]) => users(['import'], ndjson(...lines))
const added = (created: number, present = 0, refused = 0) =>
  `${created} added, ${present} there already, ${refused} refused\n`
const NONE = 'users without a password in the export: 1'
const ask = (payload: object) => app.inject({ method: 'POST', url: '/token?grant_type=password', payload })
const signIn = async (identifier: object, password: string) => outcomeOf(await ask({ ...identifier, password }))
async function hashOf(email: string): Promise<string> {
  const row = await deps.db
    .selectFrom('users')
    .select('encrypted_password')
    .where('email', '=', email)
    .executeTakeFirstOrThrow()
  return row.encrypted_password ?? ''
}

describe('auth users import', () => {
  it.each([
    ['bcrypt', 'U*U', BCRYPT],
    ['scrypt', 'password', '$scrypt$ln=16,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD+iCs5E'],
    [
      'PBKDF2',
      'toomanysecrets',
      '$pbkdf2-sha256$29000$N2YMIWQsBWBMae09x1jrPQ$1t8iyB2A.WF/Z5JZv.lfCIhXXN33N23OSgQYThBYRfk',
    ],
    [
      'Firebase',
      'user1password',
      '$fbscrypt$42xEC+ixf3L2lw==$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==',
    ],
    ['argon2i', 'older', ARGON2I],
  ])(
    'imports users who sign in with their password of %s, which is hashed again',
    async (_form, password, password_hash) => {
      const flags = ['--firebase-signer-key', SIGNER_KEY, '--firebase-salt-separator', 'Bw==']
      const line = { email: 'ada@example.com', email_confirm: true, password_hash }
      expect((await users(['import', ...flags], ndjson(line))).output).toBe(added(1))
      const imported = await hashOf('ada@example.com')
      expect(await signIn({ email: 'ada@example.com' }, `${password}.`)).toEqual(wrongPassword)
      expect(await hashOf('ada@example.com')).toBe(imported)
      expect(await signIn({ email: 'ada@example.com' }, password)).toBe(200)
      expect(await hashOf('ada@example.com')).toMatch(/^\$argon2id\$v=19\$m=19456,(t=2,p=1|p=1,t=2)\$/)
      expect(await signIn({ email: 'ada@example.com' }, password)).toBe(200)
      expect(JSON.stringify(await deps.db.selectFrom('users').selectAll().execute())).not.toContain(SIGNER_KEY)
    },
  )

  it('reports each new user whose role makes them an admin', async () => {
    const admin = { email: 'root@example.com', email_confirm: true, role: 'service_role' }
    const { output, reports } = await importLines({ email: 'anybody@example.com' }, admin)
    expect([output, reports]).toEqual([
      added(2),
      ['line 2: the user has the role service_role, which makes them an admin'],
    ])
    expect(await importLines(admin)).toEqual({ output: added(0, 1), reports: [], failure: undefined })
  })

  it('imports phones, bans, and users without a password', async () => {
    const hash = await deps.passwords.hash('correct horse')
    await importLines(
      { phone: '+1 415 555 0100', phone_confirm: true, password_hash: hash },
      { email: 'bad@example.com', email_confirm: true, password_hash: hash, banned_until: '2100-01-01T00:00:00Z' },
      { email: 'none@example.com', email_confirm: true },
      { email: 'new@example.com', password_hash: hash },
    )
    expect(await signIn({ phone: '14155550100' }, 'correct horse')).toBe(200)
    const refusal = (email: string) => signIn({ email }, 'correct horse')
    const refused = (code: string, text: string) => [400, grantErrorBody('invalid_grant', code, text)]
    expect(await refusal('bad@example.com')).toEqual(refused('user_banned', 'User is banned'))
    expect(await refusal('none@example.com')).toEqual(wrongPassword)
    expect(await refusal('new@example.com')).toEqual(refused('email_not_confirmed', 'Email not confirmed'))
  })

  it('changes nothing when it runs again', async () => {
    const lines = [{ email: 'a@example.com' }, { id: randomUUID(), email: 'b@example.com' }, { phone: '14155550177' }]
    expect((await importLines(...lines)).output).toBe(added(3))
    const before = await deps.db.selectFrom('users').selectAll().orderBy('id').execute()
    clock.advance(1_000)
    expect(await importLines(...lines)).toEqual({ output: added(0, 3), reports: [], failure: undefined })
    expect(await deps.db.selectFrom('users').selectAll().orderBy('id').execute()).toEqual(before)
    expect(await deps.db.selectFrom('identities').selectAll().execute()).toHaveLength(3)
  })

  it('reports each refused line and imports the others', async () => {
    const signedUp = await createSignedUp(deps)
    const input = Buffer.concat([
      Buffer.from('\ufeff{"email":"first@example.com","favourite":"tea"}\r\n\n'),
      Buffer.from('{"email":"nobody"}\n{"email":\n'),
      Buffer.from([0x7b, 0xff, 0x7d, 0x0a]),
      Buffer.from(`{"email":"${'x'.repeat(1_048_576)}"}\n`),
      Buffer.from(ndjson({ id: randomUUID(), email: signedUp.email }, { email: 'last@example.com' })),
    ])
    expect(await users(['import', '-'], input)).toEqual({
      output: added(2, 0, 5),
      reports: [
        'line 3: email: Unable to validate email address: invalid format',
        'line 4: Could not parse the line as JSON: the body is not JSON',
        'line 5: Could not parse the line as JSON: the body is not UTF-8',
        'line 6: is longer than a mebibyte',
        'line 7: the email belongs to another user',
        'members that mean nothing here: favourite',
      ],
      failure: '5 lines were refused',
    })
  })

  it('--dry-run reports the same and changes nothing', async () => {
    const signedUp = await createSignedUp(deps)
    const lines = [
      { email: 'a@example.com' },
      { email: 'a@example.com' },
      { email: signedUp.email },
      { id: randomUUID(), email: 'a@example.com' },
      { email: 'nobody' },
      { email: 'b@example.com', identities: [{ provider: 'google', id: '1' }] },
      { email: 'c@example.com', identities: [{ provider: 'google', id: '1' }] },
    ]
    const dry = await users(['import', '--dry-run'], ndjson(...lines))
    expect(dry.output).toBe(`nothing changed; would be: ${added(2, 2, 3)}`)
    expect(await deps.db.selectFrom('users').selectAll().execute()).toHaveLength(1)
    const real = await importLines(...lines)
    expect(real).toEqual({ ...dry, output: added(2, 2, 3) })
  })

  it('reports its progress and finds duplicates across batches', async () => {
    const lines = Array.from({ length: 1_100 }, (_, i) => ({ email: `user${i % 1_050}@example.com` }))
    const dry = await users(['import', '--dry-run'], ndjson(...lines))
    const real = await importLines(...lines)
    expect(dry.output).toBe(`nothing changed; would be: ${added(1_050, 50)}`)
    expect(real.output).toBe(added(1_050, 50))
    expect(real.reports).toEqual([
      'line 500: 500 added, 0 there already, 0 refused',
      'line 1000: 1000 added, 0 there already, 0 refused',
    ])
  })

  it('two parallel imports add each user once', async () => {
    const confirmed = { email_confirm: true, phone_confirm: true }
    const addresses = (i: number) => ({ email: `u${i}@x.example`, phone: `1415555${1_000 + i}` })
    const lines = Array.from({ length: 1_200 }, (_, i) => ({ ...addresses(i), ...confirmed }))
    const runs = await Promise.all([importLines(...lines), importLines(...lines), importLines(...lines.toReversed())])
    expect(runs.map(({ failure }) => failure)).toEqual([undefined, undefined, undefined])
    const counts = runs.map(({ output }) => Number(output.split(' ')[0]))
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1_200)
    expect(await deps.db.selectFrom('identities').select('id').execute()).toHaveLength(2_400)
  })

  it('accepts the earliest and the latest time of a line', async () => {
    const times = { created_at: '0001-01-01T00:00:00+15:59', banned_until: '9999-12-31T23:59:59.999999-15:59' }
    expect((await importLines({ email: 'a@example.com', ...times })).output).toBe(added(1))
  })

  it('reads a file and reports a missing file', async () => {
    const file = join(folder, 'in.ndjson')
    writeFileSync(file, ndjson({ email: 'a@example.com' }))
    expect((await users(['import', file])).output).toBe(added(1))
    expect((await users(['import', join(folder, 'none')])).failure).toMatch(/^ENOENT/)
  })
})

describe('auth users export', () => {
  it('writes what import reads: exporting, importing and exporting again gives the same lines', async () => {
    const claimed = { phone: '14155550177', claimed_at: '2026-01-01T00:00:00.000001+00:00' }
    const signedUp = await createSignedUp(deps, { raw_user_meta_data: { é: [1, { x: null }] }, ...claimed })
    await deps.db
      .insertInto('identities')
      .values({
        user_id: signedUp.user.id,
        provider: 'google',
        created_at: new Date(),
        updated_at: new Date(),
        provider_id: '7',
        identity_data: { sub: '7', email: 'G@x.y' },
      })
      .execute()
    await importLines(
      {
        id: randomUUID(),
        is_anonymous: true,
        banned_until: '2100-01-01T00:00:00.000001Z',
        role: 'guest',
        aud: 'other',
      },
      {
        email: 'b@example.com',
        email_confirm: true,
        password_hash: await hashOf(signedUp.email),
        invited_at: '2020-01-01T00:00:00Z',
      },
    )
    const { output } = await users(['export'])
    expect(output.split('\n')).toHaveLength(4)
    const own = output.split('\n').find((line) => line.includes(signedUp.email)) ?? ''
    expect(JSON.parse(own)).toEqual({
      id: signedUp.user.id,
      aud: 'authenticated',
      role: 'authenticated',
      email: signedUp.email,
      phone: '14155550177',
      password_hash: await hashOf(signedUp.email),
      email_confirmed_at: '2026-01-01T00:00:00.000001+00:00',
      confirmation_sent_at: '2026-01-01T00:00:00.000000+00:00',
      app_metadata: { provider: 'email', providers: ['email'] },
      user_metadata: { é: [1, { x: null }] },
      identities: [
        {
          provider: 'email',
          provider_id: signedUp.user.id,
          identity_data: { sub: signedUp.user.id, email: signedUp.email, email_verified: true, phone_verified: false },
          created_at: expect.any(String),
          updated_at: expect.any(String),
        },
        {
          provider: 'google',
          provider_id: '7',
          identity_data: { sub: '7', email: 'G@x.y' },
          created_at: expect.any(String),
          updated_at: expect.any(String),
        },
      ],
      is_anonymous: false,
      is_sso_user: false,
      claimed_at: claimed.claimed_at,
      created_at: signedUp.user.createdAt,
      updated_at: signedUp.user.updatedAt,
    })
    await deps.db.deleteFrom('users').execute()
    expect((await users(['import'], output)).output).toBe(added(3))
    expect((await users(['export'])).output).toBe(output)
    expect(await signIn({ email: signedUp.email }, signedUp.password)).toBe(200)
  })

  it('exports the time since which an account is claimed although its address is unconfirmed', async () => {
    const at = '2021-01-01T00:00:00.000001+00:00'
    const { user } = await createSignedUp(deps, { email_confirmed_at: null, claimed_at: at })
    const { output } = await users(['export'])
    expect(JSON.parse(output)).toEqual(
      userBody({
        id: user.id,
        email: user.email,
        password_hash: user.passwordHash,
        confirmation_sent_at: anyTime,
        user_metadata: { name: 'Ann' },
        identities: [
          {
            provider: 'email',
            provider_id: user.id,
            identity_data: { sub: user.id, email: user.email, email_verified: true, phone_verified: false },
            created_at: anyTime,
            updated_at: anyTime,
          },
        ],
        is_sso_user: false,
        claimed_at: at,
        phone: undefined,
      }),
    )
    await deps.db.deleteFrom('users').execute()
    expect(await users(['import'], output)).toEqual({ output: added(1), reports: [], failure: undefined })
    const rows = await deps.db.selectFrom('users').select(['id', 'confirmed_at', 'claimed_at']).execute()
    expect(rows).toEqual([{ id: user.id, confirmed_at: null, claimed_at: at }])
    expect((await users(['export'])).output).toBe(output.replace('"email_verified":true', '"email_verified":false'))
  })

  it('leaves out pending sign-ups and deleted users', async () => {
    const row = { aud: 'authenticated', role: 'authenticated' }
    await deps.db
      .insertInto('users')
      .values({ id: randomUUID(), ...row, email: 'a@example.com', staged_at: new Date() })
      .execute()
    await deps.db
      .insertInto('users')
      .values({ id: randomUUID(), ...row, email: 'b@example.com', deleted_at: new Date() })
      .execute()
    expect(await users(['export'])).toEqual({ output: '', reports: [], failure: undefined })
  })

  it('exports each of 1,001 users once', async () => {
    await importLines(...Array.from({ length: 1_001 }, (_, i) => ({ email: `user${i}@example.com` })))
    const { output } = await users(['export'])
    const lines = output.trimEnd().split('\n')
    expect(new Set(lines.map((line) => JSON.parse(line).email)).size).toBe(1_001)
  })

  it('writes a file that only its owner can read, and never overwrites a file', async () => {
    const file = join(folder, 'out.ndjson')
    await importLines({ email: 'a@example.com' })
    expect(await users(['export', file])).toEqual({ output: '', reports: [], failure: undefined })
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(
      userBody({
        email: 'a@example.com',
        identities: [
          {
            provider: 'email',
            provider_id: anyId,
            identity_data: { sub: anyId, email: 'a@example.com', email_verified: false, phone_verified: false },
            created_at: anyTime,
            updated_at: anyTime,
          },
        ],
        is_sso_user: false,
        phone: undefined,
      }),
    )
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect((await users(['export', file])).failure).toMatch(/^EEXIST/)
  })

  it('marks imported users, so that clean-up keeps unconfirmed ones', async () => {
    await importLines({ email: 'a@example.com', confirmation_sent_at: '2020-01-01T00:00:00Z' })
    const rows = await deps.db.selectFrom('users').select('keep_unconfirmed').execute()
    expect(rows).toEqual([{ keep_unconfirmed: true }])
  })

  it('reads an export of Firebase, and says what it leaves behind and whom it cannot read', async () => {
    const salt = '42xEC+ixf3L2lw=='
    const passwordHash = 'lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ=='
    const ada = { localId: 'a', email: 'ada@example.com', emailVerified: true, salt, passwordHash, mfaInfo: [{}] }
    const redacted = { localId: 'c', email: 'carl@example.com', passwordHash: 'UkVEQUNURUQ=' }
    const exported = JSON.stringify({ users: [ada, { email: 'bob@example.com' }, redacted] })
    const flags = ['--from', 'firebase', '--firebase-signer-key', SIGNER_KEY, '--firebase-salt-separator', 'Bw==']
    const { output, reports, failure } = await users(['import', ...flags], exported)
    expect([output, failure]).toEqual([added(2, 0, 1), '1 lines were refused'])
    expect(reports).toEqual([
      'user 1 does not bring second factors: the user has to enrol them again',
      expect.stringMatching(/^user 2: localId: /),
      'user 3 does not bring the password: the export has its hash redacted',
      'cannot be moved: second factors: the user has to enrol them again (1 in all)',
      'cannot be moved: the password: the export has its hash redacted (1 in all)',
    ])
    const answer = await ask({ email: ada.email, password: 'user1password' })
    const app_metadata = { provider: 'email', providers: ['email'], firebase_uid: 'a' }
    expect(statusAndBody(answer)).toEqual([200, sessionBody(confirmedBody(anyId, ada.email, { app_metadata }))])
  })

  it.each([
    ['firebase', { localId: '1' }, (users: readonly object[]) => JSON.stringify({ users })],
    ['auth0', { user_id: 'auth0|1' }, (users: readonly object[]) => ndjson(...users)],
    ['keycloak', { id: randomUUID() }, (users: readonly object[]) => JSON.stringify({ users })],
  ] as const)('refuses a user of a second project of %s who has the id of another user', async (from, id, write) => {
    const importUsers = (...emails: readonly string[]) =>
      users(['import', '--from', from], write(emails.map((email) => ({ ...id, email }))))
    const refused = 'the id belongs to another user here, with another email, phone, account and time of creation'
    expect(await importUsers('ann@example.com', 'bob@example.com')).toEqual({
      output: added(1, 0, 1),
      reports: ['users without a password in the export: 2', `line 2: ${refused}`],
      failure: '1 lines were refused',
    })
    expect(await importUsers('carl@example.com')).toEqual({
      output: added(0, 0, 1),
      reports: [NONE, `line 1: ${refused}`],
      failure: '1 lines were refused',
    })
    expect(await importUsers('ann@example.com')).toEqual({ output: added(0, 1), reports: [NONE], failure: undefined })
  })

  it('quotes no signer key of Firebase that is mistyped', async () => {
    vi.stubEnv('FIREBASE_SIGNER_KEY', 'S3cr3tK3y!!')
    const { failure } = await users(['import']).finally(() => vi.unstubAllEnvs())
    const text = "error: option '--firebase-signer-key <base64>', or FIREBASE_SIGNER_KEY, must be base64"
    expect([failure, (await users(['import', '--firebase-signer-key', 'S3cr3tK3y!!'])).failure]).toEqual([text, text])
  })

  it('leaves temporary passwords of Keycloak behind, and counts users by what cannot be moved', async () => {
    const form = '{"algorithm":"pbkdf2-sha256","hashIterations":29000}'
    const value = '{"value":"1t8iyB2A+WF/Z5JZv+lfCIhXXN33N23OSgQYThBYRfk=","salt":"N2YMIWQsBWBMae09x1jrPQ=="}'
    const credentials = [{ type: 'password', secretData: value, credentialData: form }]
    const [ada, bob] = ['ada@example.com', 'bob@example.com'].map((email) => ({
      email,
      emailVerified: true,
      credentials,
    }))
    const requiredActions = ['UPDATE_PASSWORD']
    const realm = [
      { id: randomUUID(), ...ada, requiredActions },
      { id: randomUUID(), ...bob, requiredActions: ['TERMS_AND_CONDITIONS'] },
      { id: randomUUID(), username: 'carol', requiredActions },
    ]
    const { output, reports } = await users(['import', '--from', 'keycloak'], JSON.stringify({ users: realm }))
    expect(output).toBe(added(3))
    expect(reports.filter((line) => line.startsWith('cannot'))).toEqual([
      'cannot be moved: the password: it is temporary, and the user has to set a new one (1 in all)',
      'cannot be moved: the required action UPDATE_PASSWORD (2 in all)',
      'cannot be moved: the required action TERMS_AND_CONDITIONS (1 in all)',
      'cannot be moved: the sign-in by a user name: the user has no email (1 in all)',
    ])
    expect(await signIn({ email: ada?.email }, 'toomanysecrets')).toEqual(wrongPassword)
    expect(await signIn({ email: bob?.email }, 'toomanysecrets')).toBe(200)
  })

  // An Auth0 account of an attacker with the email of a user here. The email's owner has verified it at Google.
  const strange = {
    user_id: 'auth0|evil',
    email: 'Victim@example.com',
    email_verified: false,
    passwordHash: BCRYPT,
    identities: [{ provider: 'auth0', user_id: 'evil' }],
  }
  const verified = {
    user_id: 'google-oauth2|77',
    email: 'victim@example.com',
    email_verified: true,
    user_metadata: { plan: 'paid' },
    identities: [{ provider: 'google-oauth2', user_id: '77' }],
  }
  const importAuth0 = (...lines: readonly object[]) => users(['import', '--from', 'auth0'], ndjson(...lines))
  const storedUsers = () =>
    deps.db
      .selectFrom('users')
      .select(['email', 'encrypted_password', 'raw_user_meta_data'])
      .select((e) => e('email_confirmed_at', 'is not', null).as('isConfirmed'))
      .execute()
  const owner = {
    email: verified.email,
    encrypted_password: null,
    raw_user_meta_data: { plan: 'paid' },
    isConfirmed: true,
  }

  it.each([
    ['before', [strange, verified], 1],
    ['after', [verified, strange], 2],
  ])('gives an email to the user of Auth0 who has verified it, whose line comes %s', async (_place, lines, number) => {
    expect(await importAuth0(...lines)).toEqual({
      output: added(1, 0, 1),
      reports: [`user ${number}: the email is not verified, and another user of the export has verified it`, NONE],
      failure: '1 lines were refused',
    })
    expect(await storedUsers()).toEqual([owner])
    expect(await signIn({ email: verified.email }, 'U*U')).toEqual(wrongPassword)
    // A second run recognizes the user.
    expect((await importAuth0(verified)).output).toBe(added(0, 1))
  })

  it('refuses a user who has verified an email that a user here has not', async () => {
    await importAuth0(strange)
    const [stranger] = await storedUsers()
    expect(await importAuth0(verified)).toEqual({
      output: added(0, 0, 1),
      reports: [NONE, 'line 1: the email belongs to another user, who has not confirmed it: delete that user first'],
      failure: '1 lines were refused',
    })
    expect(await storedUsers()).toEqual([stranger])
  })

  it('refuses the second of two users of an export who have one email', async () => {
    const other = { ...verified, user_id: 'github|8', identities: [{ provider: 'github', user_id: '8' }] }
    expect(await importAuth0(verified, other)).toEqual({
      output: added(1, 0, 1),
      reports: ['users without a password in the export: 2', 'line 2: the email belongs to another user'],
      failure: '1 lines were refused',
    })
  })

  it('prints text of a file without control characters', async () => {
    const { reports } = await users(
      ['import'],
      ndjson({ email: 'a@example.com', 'x\u001b[2J\u202e': 1 }, { email: '\u001b]0;owned\u0007' }),
    )
    expect(reports.join()).toContain('x\\u{1b}[2J\\u{202e}')
    expect(reports.join()).not.toMatch(/\p{C}/u)
  })
})
