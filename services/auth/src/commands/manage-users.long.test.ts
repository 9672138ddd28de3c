import { Readable, Writable } from 'node:stream'
import { Command } from 'commander'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  anyTime,
  confirmedBody,
  emailIdentity,
  grantErrorBody,
  outcomeOf,
  phoneIdentity,
  signedUpBody,
  unknownRefreshToken,
  userBody,
} from '../../test/bodies.ts'
import { type MailApp, openMailApp } from '../../test/mail-app.ts'
import { createSignedIn, signIn } from '../../test/signed-in.ts'
import { createSignedUp } from '../../test/signed-up.ts'
import type { OperatorDeps } from '../deps.ts'
import { tokenCommand } from './keys.ts'
import { usersCommand } from './users.ts'

let test: MailApp
beforeAll(async () => {
  test = await openMailApp({ AUTH_EXTERNAL_PHONE_ENABLED: 'true', AUTH_URI_ALLOW_LIST: 'https://shop.example/**' })
})
afterAll(() => test.close())
beforeEach(async () => {
  await test.deps.db.deleteFrom('users').execute()
  await test.deps.db.deleteFrom('audit_log_entries').execute()
})

const ADA = '5f0d5a68-2d5c-4f6e-8a9d-0c1f2b3a4d5e'
const TED = '6a1e6b79-3e6d-4a7f-9b0e-1d2a3c4b5e6f'

/** Runs `auth …` and returns the printed lines. */
async function run(...words: readonly string[]): Promise<readonly string[]> {
  const lines: string[] = []
  const operator = {
    open: async (): Promise<OperatorDeps> => ({ ...test.deps, close: async () => {} }),
    print: (line: string) => void lines.push(line),
  }
  const users = usersCommand({
    operator,
    now: test.clock.now,
    stdin: Readable.from([]),
    stdout: new Writable(),
    report: () => {},
  })
  const program = new Command().exitOverride().addCommand(users).addCommand(tokenCommand(operator))
  for (const command of [program, users, ...users.commands, ...program.commands]) {
    command.configureOutput({ writeErr: () => {} })
  }
  await program.parseAsync(words, { from: 'user' })
  return lines
}

const json = async (...words: readonly string[]): Promise<unknown> =>
  JSON.parse((await run(...words, '--json')).join('\n'))

const ada = ['users', 'create', '--id', ADA, '--email', 'Ada@Example.com', '--phone', '+45 12 34 56 78', '--confirm']
const ted = ['users', 'create', '--id', TED, '--email', 'ted@example.com']

/** The fields of Ada's user record that differ from other users. She has an address and a phone number. */
const BY_BOTH = {
  phone: '4512345678',
  phone_confirmed_at: anyTime,
  app_metadata: { provider: 'email', providers: ['email', 'phone'] },
  identities: [
    noSignIn(emailIdentity(ADA, 'ada@example.com', { email_verified: true })),
    noSignIn(phoneIdentity(ADA, '4512345678', { phone_verified: true })),
  ],
}

const audit = () =>
  test.deps.db
    .selectFrom('audit_log_entries')
    .select(['action', 'actor_id', 'target_user_id', 'ip_address', 'payload'])
    .orderBy('id')
    .execute()

const auditEntry = (action: string, log_type: string, traits: object) => ({
  action,
  actor_id: null,
  target_user_id: ADA,
  ip_address: '',
  payload: {
    actor_id: '00000000-0000-0000-0000-000000000000',
    actor_username: 'operator',
    actor_via_sso: false,
    action,
    log_type,
    traits,
  },
})

describe('auth users', () => {
  it('create: makes a user, and adds to the audit log as operator', async () => {
    const lines = await run(...ada, '--role', 'editor', '--user-metadata', '{"name":"Ada"}')
    expect(lines).toEqual([
      `id             ${ADA}`,
      'email          ada@example.com',
      'phone          4512345678',
      'state          confirmed',
      // Match any minute, because other tests advance the clock.
      expect.stringMatching(/^created {8}2026-01-02 03:0\d$/),
      'last sign in   -',
      'audience       authenticated',
      'role           editor',
      'app metadata   {"provider":"email","providers":["email","phone"]}',
      'user metadata  {"name":"Ada"}',
      'factors        -',
      '',
      'identities:',
      'PROVIDER  ID                                    EMAIL            LAST SIGN IN',
      `email     ${ADA}  ada@example.com  -`,
      `phone     ${ADA}  -                -`,
    ])
    const traits = { user_id: ADA, user_email: 'ada@example.com', user_phone: '4512345678' }
    expect(await audit()).toEqual([auditEntry('user_signedup', 'team', traits)])
  })

  it('assign-role: lets a user work as an operator, and takes the role away again', async () => {
    await run(...ada)
    const own = { provider: 'email', providers: ['email', 'phone'] }
    expect(await json('users', 'assign-role', 'ada@example.com', 'support')).toHaveProperty('app_metadata', {
      ...own,
      console_role: 'support',
    })
    expect(await json('users', 'assign-role', ADA, 'none')).toHaveProperty('app_metadata', own)
    const traits = { user_id: ADA, user_email: 'ada@example.com', user_phone: '4512345678' }
    expect((await audit()).slice(1)).toEqual([
      auditEntry('user_modified', 'user', { ...traits, console_role: 'support' }),
      auditEntry('user_modified', 'user', { ...traits, console_role: null }),
    ])
  })

  it('assign-role: refuses a word that is no role, and says which there are', async () => {
    await expect(run('users', 'assign-role', ADA, 'owner')).rejects.toHaveProperty(
      'message',
      "error: argument 'role' is invalid. Allowed choices are viewer, support, admin, none.",
    )
  })

  it('create --json: prints the user record of the API, of a user who can sign in', async () => {
    const words = [...ted, '--password', 'correct horse', '--confirm', '--app-metadata', '{"plan":"pro"}']
    expect(await json(...words)).toEqual(
      confirmedBody(TED, 'ted@example.com', {
        app_metadata: { plan: 'pro', provider: 'email', providers: ['email'] },
        identities: [noSignIn(emailIdentity(TED, 'ted@example.com', { email_verified: true }))],
      }),
    )
    const signIn = { email: 'ted@example.com', password: 'correct horse' }
    expect((await test.post('/token?grant_type=password', signIn)).statusCode).toBe(200)
  })

  it.each([
    ['no address', ['users', 'create'], 'Cannot create a user without either an email or phone'],
    ['a malformed email', [...ted.slice(0, 5), 'ted'], 'Unable to validate email address: invalid format'],
    ...['x', '00000000-0000-0000-0000-000000000000'].map((id): [string, string[], string] => [
      `the id ${id}`,
      ['users', 'create', '--id', id, '--email', 'a@example.com'],
      `error: option '--id <uuid>' argument '${id}' is invalid. It must be a UUID that is not all zeros.`,
    ]),
    [
      'a taken email',
      ['users', 'create', '--email', 'ada@example.com'],
      'A user with this email address has already been registered',
    ],
    ['a long password', [...ted, '--password', 'x'.repeat(5_000)], 'Password cannot be longer than 72 characters'],
  ])('create refuses %s', async (_case, words, message) => {
    await run(...ada)
    await expect(run(...words)).rejects.toHaveProperty('message', message)
  })

  it('list: prints a table of the newest users first', async () => {
    expect(await run('users', 'list')).toEqual(['nothing'])
    await run(...ada)
    test.clock.advance(60_000)
    await run(...ted)
    const head = 'ID                                    USER             STATE      LAST SIGN IN'
    const rows = [`${TED}  ted@example.com  invited    -`, `${ADA}  ada@example.com  confirmed  -`]
    expect(await run('users', 'list')).toEqual([head, ...rows])
    expect(await run('users', 'list', '--oldest-first')).toEqual([head, ...rows.toReversed()])
    const shown = async (...options: readonly string[]) =>
      (await run('users', 'list', ...options)).slice(1).map((line) => line.slice(0, ADA.length))
    expect(await shown('--search', 'ada@')).toEqual([ADA])
    expect(await shown('--limit', '1')).toEqual([TED])
    expect(await shown('--limit', '1', '--page', '2')).toEqual([ADA])
    expect(await shown('--audience', 'others')).toEqual([])
    expect(await json('users', 'list', '--search', 'ted')).toEqual([
      userBody({
        id: TED,
        email: 'ted@example.com',
        invited_at: anyTime,
        confirmation_sent_at: anyTime,
        identities: [noSignIn(emailIdentity(TED, 'ted@example.com', { email_verified: false }))],
      }),
    ])
    await expect(run('users', 'list', '--limit', '0')).rejects.toHaveProperty(
      'message',
      "error: option '--limit <number>' argument '0' is invalid. It must be a whole number from 1 to 1000.",
    )
  })

  it('show: finds a user by id, email or phone number', async () => {
    await run(...ada)
    const shown = await json('users', 'show', ADA)
    expect(shown).toEqual(confirmedBody(ADA, 'ada@example.com', BY_BOTH))
    for (const name of [ADA.toUpperCase(), 'ADA@example.com', '+45 12345678']) {
      expect(await json('users', 'show', name)).toEqual(shown)
    }
  })

  it.each([
    ['show', 'Ada@example.com', 'there is no user Ada@example.com'],
    ['show', '4512345678', 'there is no user 4512345678'],
    ['show', 'ada', 'ada is no id, no email and no phone number'],
    ['show', ADA, 'User not found'],
    ['delete', ADA, 'User not found'],
    ['ban', ADA, 'User not found'],
    ['unban', 'ada@example.com', 'there is no user ada@example.com'],
    ['sessions', 'ada@example.com', 'there is no user ada@example.com'],
  ])('%s %s refuses a user who does not exist', async (word, name, message) => {
    await expect(run('users', word, name)).rejects.toHaveProperty('message', message)
  })

  it('ban, unban: refuses sign-ins until the ban ends, and adds to the audit log', async () => {
    await run(...ada, '--password', 'correct horse')
    const signIn = async () => {
      const payload = { email: 'ada@example.com', password: 'correct horse' }
      return outcomeOf(await test.post('/token?grant_type=password', payload))
    }
    const shown = (state: string, indent: string, ...more: readonly unknown[]) => [
      `id          ${indent}${ADA}`,
      `email       ${indent}ada@example.com`,
      `phone       ${indent}4512345678`,
      `state       ${indent}${state}`,
      ...more,
      expect.stringMatching(/^created +2026-01-02 03:0\d$/),
      `last sign in${indent}-`,
    ]
    expect(await run('users', 'ban', 'ada@example.com')).toEqual(
      shown('banned', '  ', expect.stringMatching(/^banned until {2}\d{4}-\d\d-\d\d \d\d:\d\d$/)),
    )
    const banned = [400, grantErrorBody('invalid_grant', 'user_banned', 'User is banned')]
    expect(await signIn()).toEqual(banned)
    expect(await run('users', 'unban', ADA)).toEqual(shown('confirmed', '  '))
    expect(await signIn()).toBe(200)
    expect(await json('users', 'ban', ADA, '--for', '1h')).toEqual(
      confirmedBody(ADA, 'ada@example.com', { ...BY_BOTH, last_sign_in_at: anyTime, banned_until: anyTime }),
    )
    await expect(run('users', 'ban', ADA, '--for', 'ever')).rejects.toHaveProperty(
      'message',
      'invalid format for ban duration: time: invalid duration "ever"',
    )
    const traits = { user_id: ADA, user_email: 'ada@example.com', user_phone: '4512345678' }
    expect((await audit())[1]).toEqual(auditEntry('user_modified', 'user', traits))
  })

  it('secure: ends the sessions that began since a time, tells the user, and adds to the audit log', async () => {
    const owner = await createSignedIn(test)
    const { id } = owner.user
    const since = '2026-01-02T00:00:00.000Z'
    const older = sql`UPDATE ${sql.table('sessions')} SET created_at = '2026-01-01Z' WHERE id = ${owner.sessionId}`
    await older.execute(test.deps.db)
    const young = await signIn(test, owner)
    expect(await run('users', 'secure', owner.email, '--since', since)).toEqual([
      `id        ${id}`,
      'sessions  1',
      'passkeys  0',
      'factors   0',
    ])
    const refresh = async ({ refreshToken }: typeof owner) =>
      outcomeOf(await test.post('/token?grant_type=refresh_token', { refresh_token: refreshToken }))
    expect([await refresh(young), await refresh(owner)]).toEqual([unknownRefreshToken, 200])
    expect((await test.readMail(owner.email)).mail.subject).toBe('Your account was secured')
    const none = { sessions: 0, passkeys: 0, factors: 0 }
    expect(await json('users', 'secure', id, '--since', since)).toEqual({ id, ...none })
    const traitsOf = (changes: object) => ({
      action: 'users.secure',
      object: { kind: 'user', id },
      changes: { since, ...changes },
    })
    const entries = (await audit()).filter(({ action }) => action === 'operator.users.secure')
    expect(entries).toEqual(
      [{ ...none, sessions: 1 }, none].map((changes) => ({
        ...auditEntry('operator.users.secure', 'operator', traitsOf(changes)),
        target_user_id: id,
      })),
    )
  })

  it.each([
    [
      ['--since', '2026-01-02'],
      "error: option '--since <time>' argument '2026-01-02' is invalid. It must be an RFC 3339 time with an offset, such as 2026-01-02T03:04:05Z.",
    ],
    [['--since', '2126-01-02T03:04:05Z'], 'since: must not be in the future'],
    [[], "error: required option '--since <time>' not specified"],
  ])('secure: refuses %j, and ends nothing', async (options, message) => {
    const owner = await createSignedIn(test)
    await expect(run('users', 'secure', owner.email, ...options)).rejects.toHaveProperty('message', message)
    const sessions = test.deps.db.selectFrom('sessions').select('id').where('user_id', '=', owner.user.id)
    expect(await sessions.execute()).toEqual([{ id: owner.sessionId }])
  })

  it.each([
    ['hard', [], 0],
    ['soft', ['--soft'], 1],
  ])('delete: deletes a user %s, and adds to the audit log', async (manner, options, rows) => {
    await run(...ada)
    expect(await run('users', 'delete', '4512345678', ...options)).toEqual([`id       ${ADA}`, `deleted  ${manner}`])
    expect(await test.deps.db.selectFrom('users').select('id').execute()).toHaveLength(rows)
    const traits = { user_id: ADA, user_email: 'ada@example.com', user_phone: '4512345678' }
    expect((await audit()).at(-1)).toEqual(auditEntry('user_deleted', 'team', traits))
  })

  it('invite: mails a link that ends where the option says', async () => {
    const email = 'new@example.com'
    expect(await run('users', 'invite', email, '--redirect-to', 'https://shop.example/in')).toEqual([
      expect.stringMatching(/^id {12}[0-9a-f-]{36}$/),
      `email         ${email}`,
      'phone         -',
      'state         invited',
      expect.stringMatching(/^created {7}2026-01-02 03:0\d$/),
      'last sign in  -',
    ])
    const { link } = await test.readMail(email)
    expect([link.searchParams.get('type'), link.searchParams.get('redirect_to')]).toEqual([
      'invite',
      'https://shop.example/in',
    ])
    await expect(run('users', 'invite', email, '--redirect-to', 'https://evil.example')).rejects.toHaveProperty(
      'message',
      '--redirect-to is refused (not-listed): add it to AUTH_URI_ALLOW_LIST',
    )
    await expect(run('users', 'invite', 'nobody')).rejects.toHaveProperty(
      'message',
      'Unable to validate email address: invalid format',
    )
    await run(...ada)
    await expect(run('users', 'invite', 'ada@example.com')).rejects.toHaveProperty(
      'message',
      'A user with this email address has already been registered',
    )
  })

  it('link: prints a link and a code that sign in, and sends no mail', async () => {
    await run(...ada)
    const lines = await run('users', 'link', 'ada@example.com')
    const [, link = ''] = /^link {2}(.+)$/.exec(lines[2] ?? '') ?? []
    expect(lines).toEqual([
      `user  ${ADA}`,
      'type  magiclink',
      expect.stringMatching(/^link {2}http:\/\/localhost:8081\/verify\?token=[0-9a-f]{56}&type=magiclink&redirect_to=/),
      expect.stringMatching(/^code {2}\d{6}$/),
    ])
    const { pathname, search } = new URL(link)
    const followed = await test.app.inject({ url: pathname + search })
    expect(followed.headers.location).toMatch(/^http:\/\/localhost:3000\/#access_token=/)
    await test.idle()
    expect(test.recipients()).not.toContain('ada@example.com')
    expect(await json('users', 'link', 'ada@example.com', '--type', 'recovery')).toEqual(
      confirmedBody(ADA, 'ada@example.com', {
        ...BY_BOTH,
        last_sign_in_at: anyTime,
        recovery_sent_at: anyTime,
        action_link: expect.stringMatching(
          /^http:\/\/localhost:8081\/verify\?token=[0-9a-f]{56}&type=recovery&redirect_to=http:\/\/localhost:3000$/,
        ),
        email_otp: expect.stringMatching(/^\d{6}$/),
        hashed_token: expect.stringMatching(/^[0-9a-f]{56}$/),
        verification_type: 'recovery',
        redirect_to: 'http://localhost:3000',
        token: expect.stringMatching(/^[0-9a-f]{56}$/),
        type: 'recovery',
      }),
    )
  })

  it.each([
    [['nobody@example.com', '--type', 'recovery'], 'User with this email not found'],
    [['new@example.com', '--type', 'signup'], 'Signup requires a valid password'],
    [['ada@example.com', '--type', 'email_change_new'], 'An email address is required'],
  ])('link %j is refused', async (words, message) => {
    await run(...ada)
    await expect(run('users', 'link', ...words)).rejects.toHaveProperty('message', message)
  })

  it('sessions: lists the sessions of a user, newest first', async () => {
    const signedIn = await createSignedIn(test)
    expect(await run('users', 'sessions', signedIn.email)).toEqual([
      'ID                                    STARTED           REFRESHED  ENDS  LEVEL  ADDRESS    USER AGENT',
      expect.stringMatching(
        /^[0-9a-f-]{36} {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}- {10}- {5}aal1 {3}127\.0\.0\.1 {2}lightMyRequest$/,
      ),
    ])
    expect(await json('users', 'sessions', signedIn.user.id)).toEqual([
      {
        id: signedIn.sessionId,
        aal: 'aal1',
        created_at: anyTime,
        refreshed_at: null,
        not_after: null,
        ip: '127.0.0.1',
        user_agent: 'lightMyRequest',
      },
    ])
    const { email } = await createSignedUp(test.deps)
    expect(await run('users', 'sessions', email)).toEqual(['nothing'])
  })

  it.each([
    [['users', 'show'], 'commander.missingArgument'],
    [['users', 'sho', ADA], 'commander.unknownCommand'],
    [['users', 'link', 'a@example.com', '--type', 'x'], 'commander.invalidArgument'],
    [['users', 'create', '--user-metadata', '[]'], 'commander.invalidArgument'],
    [['users', 'create', '--app-metadata', '{'], 'commander.invalidArgument'],
    [['token', '--expires-in', 'soon'], 'commander.invalidArgument'],
    [['token', '--expires-in', '0'], 'commander.invalidArgument'],
    [['token', '--role', ''], 'commander.invalidArgument'],
    [['token', '--role', 'anon', '--user', ADA], 'commander.conflictingOption'],
  ])('%j is wrong usage', async (words, code) => {
    await expect(run(...words)).rejects.toHaveProperty('code', code)
  })
})

describe('auth token', () => {
  const claimsOf = (token = '') => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  const issuedAt = () => Math.floor(test.clock.now().getTime() / 1_000)

  it('prints a token of the service role, with which /admin answers', async () => {
    const [token, ...rest] = await run('token')
    expect(rest).toEqual([])
    expect(claimsOf(token)).toEqual({
      iss: 'http://localhost:8081',
      role: 'service_role',
      iat: issuedAt(),
      exp: issuedAt() + 3_600,
    })
    const headers = { authorization: `Bearer ${token}` }
    expect((await test.app.inject({ url: '/admin/users', headers })).statusCode).toBe(200)
  })

  it('prints a token of another role and lifetime', async () => {
    const [token] = await run('token', '--role', 'anon', '--expires-in', '8760h')
    expect(claimsOf(token)).toEqual({
      iss: 'http://localhost:8081',
      role: 'anon',
      iat: issuedAt(),
      exp: issuedAt() + 8_760 * 3_600,
    })
  })

  it('prints a token of a user, with which /user answers', async () => {
    const signedUp = await createSignedUp(test.deps)
    const answer = await json('token', '--user', signedUp.email)
    expect(answer).toEqual({
      access_token: expect.any(String),
      token_type: 'bearer',
      expires_in: 3_600,
      expires_at: issuedAt() + 3_600,
    })
    const [token] = await run('token', '--user', signedUp.user.id)
    expect(claimsOf(token)).toEqual({
      iss: 'http://localhost:8081',
      sub: signedUp.user.id,
      aud: 'authenticated',
      email: signedUp.email,
      phone: '',
      app_metadata: { provider: 'email', providers: ['email'] },
      user_metadata: { name: 'Ann' },
      role: 'authenticated',
      aal: 'aal1',
      amr: [],
      is_anonymous: false,
      iat: issuedAt(),
      exp: issuedAt() + 3_600,
    })
    const own = await test.app.inject({ url: '/user', headers: { authorization: `Bearer ${token}` } })
    expect(own.json()).toEqual(signedUpBody(signedUp))
  })

  it('refuses a user who does not exist or is deleted', async () => {
    await expect(run('token', '--user', 'nobody@example.com')).rejects.toHaveProperty(
      'message',
      'there is no user nobody@example.com',
    )
    await expect(run('token', '--user', ADA)).rejects.toHaveProperty('message', 'User not found')
    await run(...ada)
    await run('users', 'delete', ADA, '--soft')
    await expect(run('token', '--user', ADA)).rejects.toHaveProperty('message', 'User not found')
  })
})

/** Returns an identity that was never used for a sign-in. */
function noSignIn(identity: object): object {
  return Object.fromEntries(Object.entries({ ...identity }).filter(([name]) => name !== 'last_sign_in_at'))
}
