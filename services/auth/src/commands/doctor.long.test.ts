import { migrateCommand } from '@trestle/service/migrate-command.ts'
import { startMailSink } from '@trestle/testing/mail-sink.ts'
import { createEmptyDatabase, prepared } from '@trestle/testing/temporary-database.ts'
import { Command } from 'commander'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { loadAuthConfig } from '../config.ts'
import { migrateOptions } from '../migrations.ts'
import { doctor } from './doctor.ts'

const database = await createEmptyDatabase()
const sink = await startMailSink()
beforeAll(() => migrate([]))
afterAll(async () => {
  await database.drop()
  await sink.close()
})

const load = (changes: Record<string, string> = {}) =>
  loadAuthConfig({
    AUTH_SITE_URL: 'http://localhost:3000',
    AUTH_API_EXTERNAL_URL: 'http://localhost:8081',
    AUTH_DB_DRIVER: 'postgres',
    AUTH_DB_DATABASE_URL: database.url,
    AUTH_DB_PREPARED: String(prepared),
    AUTH_DB_ROLE: 'auth_service',
    AUTH_JWT_SECRET: 'a secret of at least 32 bytes, for tests',
    AUTH_SMTP_HOST: '127.0.0.1',
    AUTH_SMTP_PORT: String(sink.port),
    AUTH_SMTP_ADMIN_EMAIL: 'auth@example.com',
    ...changes,
  })

async function examine(changes: Record<string, string> = {}) {
  const lines: string[] = []
  const isHealthy = await doctor(
    () => load(changes),
    (line) => lines.push(line),
  )
  return { isHealthy, lines }
}

async function migrate(words: readonly string[], changes: Record<string, string> = {}) {
  const lines: string[] = []
  const program = new Command().addCommand(
    migrateCommand(
      () => migrateOptions(load(changes)),
      (line) => lines.push(line),
    ),
  )
  await program.parseAsync(['migrate', ...words], { from: 'user' })
  return lines
}

it('names settings as the operator has set them, in notes and in advice', async () => {
  const { lines } = await examine({
    AUTH_PROFILE: 'supabase',
    AUTH_SMTP_PORT: '1',
    GOTRUE_SMTP_USER: 'auth',
    GOTRUE_SMTP_PASS: 'secret',
    GOTRUE_JWT_DEFAULT_GROUP_NAME: 'authenticated',
  })
  expect(lines.filter((line) => /GROUP_NAME|SMTP_HOST/.test(line))).toEqual([
    'note  GOTRUE_JWT_DEFAULT_GROUP_NAME is a deprecated name: it sets the role of new users, tokens have no groups',
    expect.stringMatching(
      /^wrong SMTP: .*; start the mail server, or correct AUTH_SMTP_HOST, AUTH_SMTP_PORT, GOTRUE_SMTP_USER and GOTRUE_SMTP_PASS$/,
    ),
  ])
})

describe('auth migrate and auth doctor', () => {
  it('list pending migrations, apply them once, and then report no problem', async () => {
    const empty = await createEmptyDatabase()
    onTestFinished(() => empty.drop())
    const changes = { AUTH_DB_DATABASE_URL: empty.url }
    const run = (...words: string[]) => migrate(words, changes)
    const before = await examine(changes)
    expect(before.isHealthy).toBe(false)
    expect(before.lines).toContainEqual(expect.stringMatching(/^wrong migrations: pending: 0001-create-uuid-v7, /))
    const status = await run('status')
    expect(status).toContain('pending 0002-create-users')
    expect(await run('plan')).toContain('-- 0002-create-users')
    const pending = status.filter((line) => line.startsWith('pending '))
    const functions = status.filter((line) => line.startsWith('missing function '))
    expect(status).toEqual([...pending, 'no functions are installed', ...functions])
    expect(await run()).toEqual([
      ...pending.map((line) => line.replace('pending', 'applied')),
      `installed ${functions.length} functions`,
    ])
    expect(await run('up')).toEqual(['nothing to do'])
    expect(await examine(changes)).toEqual({
      isHealthy: true,
      lines: [
        'ok    settings',
        'ok    log file: none, lines go to standard output',
        'ok    database: answers',
        'ok    migration database: answers',
        `ok    migrations: ${pending.length} applied`,
        'ok    clock: agrees with that of the database',
        'ok    signing keys: tokens are signed with AUTH_JWT_SECRET',
        'ok    SMTP: answers',
        'ok    URLs: http://localhost:8081',
        'ok    SMS: none',
        'ok    phone numbers: by data of 2026-11-10',
        'ok    mail templates: built in',
        'ok    rate limits: counted in memory',
        'ok    schema: nobody else may create functions in auth',
        'ok    adoption: nothing to undo',
        'ok    dead jobs: none',
      ],
    })
  })

  it('name each problem and its remedy', async () => {
    const { isHealthy, lines } = await examine({
      AUTH_API_EXTERNAL_URL: 'http://auth.example.com',
      AUTH_SMTP_PORT: '1',
      AUTH_OPERATOR_TOKEN: 'x',
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      AUTH_RATE_LIMIT_STORE: 'redis',
      AUTH_REDIS_URL: 'redis://127.0.0.1:1',
      AUTH_MAILER_TEMPLATES_INVITE: 'http://169.254.169.254/latest/meta-data',
      AUTH_MAILER_SUBJECTS_RECOVERY: 'Hello\n{{ if eq .Data.locale "de" }}Hallo{{ end }}',
    })
    expect(isHealthy).toBe(false)
    expect(lines).toContain('note  AUTH_OPERATOR_TOKEN is deprecated and has no effect')
    expect(lines.filter((line) => line.startsWith('wrong'))).toEqual([
      expect.stringMatching(/^wrong SMTP: .*ECONNREFUSED.*; start the mail server, or correct AUTH_SMTP_HOST/),
      'wrong URLs: http://auth.example.com is not https; put the service behind a TLS proxy and set its https address as AUTH_API_EXTERNAL_URL',
      'wrong SMS: phones may sign in, and no gateway can be used; set AUTH_SMS_PROVIDER and the account of that gateway, or AUTH_EXTERNAL_PHONE_ENABLED=false',
      'wrong mail templates: INVITE (http://169.254.169.254/latest/meta-data): the address of 169.254.169.254 is not one that this service may call, AUTH_MAILER_SUBJECTS_RECOVERY is no template: line 2, column 1: {{ eq .Data.locale "de" }} is not a name; correct the address or the template; the built-in text is sent meanwhile',
      'wrong rate limits: connect ECONNREFUSED 127.0.0.1:1; start Redis, or correct AUTH_REDIS_URL; each process counts for itself meanwhile',
    ])
    expect(await examine({ AUTH_SITE_URL: 'x' })).toEqual({
      isHealthy: false,
      lines: ['config: AUTH_SITE_URL must be an absolute URI with scheme and host (got "x")'],
    })
  })

  it('report only that the database is away, and check what needs no database', async () => {
    const { isHealthy, lines } = await examine({ AUTH_DB_DATABASE_URL: 'postgres://trestle@127.0.0.1:1/trestle' })
    expect({ isHealthy, lines }).toEqual({
      isHealthy: false,
      lines: [
        'ok    settings',
        'ok    log file: none, lines go to standard output',
        'wrong database: connect ECONNREFUSED 127.0.0.1:1, so not checked: migration database, migrations, clock, ' +
          'signing keys, phone numbers, schema, adoption, dead jobs; start PostgreSQL, or correct AUTH_DB_DATABASE_URL',
        'ok    SMTP: answers',
        'ok    URLs: http://localhost:8081',
        'ok    SMS: none',
        'ok    mail templates: built in',
        'ok    rate limits: counted in memory',
      ],
    })
  })

  it('demand no mail server and no gateway when hooks send the messages', async () => {
    const hook = (name: string) => ({
      [`AUTH_HOOK_${name}_ENABLED`]: 'true',
      [`AUTH_HOOK_${name}_URI`]: 'https://hooks.example.com',
      [`AUTH_HOOK_${name}_SECRETS`]: `v1,whsec_${Buffer.alloc(24).toString('base64')}`,
    })
    const { isHealthy, lines } = await examine({
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      AUTH_SMTP_PORT: '1',
      ...hook('SEND_EMAIL'),
      ...hook('SEND_SMS'),
    })
    expect(lines.filter((line) => /SMTP|SMS/.test(line))).toEqual([
      'ok    SMTP: not used, a hook sends mails',
      'ok    SMS: not used, a hook sends them',
    ])
    expect(isHealthy).toBe(true)
  })

  it('count users who have one phone number in two forms', async () => {
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    const ids = ['1', '2'].map((digit) => `00000000-0000-4000-8000-00000000000${digit}`)
    await client.query('INSERT INTO auth.users (id, phone) VALUES ($1, $2), ($3, $4)', [
      ids[0],
      '447418084106',
      ids[1],
      '4407418084106',
    ])
    const phones = async (changes = {}) =>
      (await examine(changes)).lines.filter((line) => line.includes('phone numbers'))
    expect(await phones()).toEqual([
      `ok    phone numbers: by data of 2026-11-10; users who have one number in two forms: 1, such as ${ids[1]} and ${ids[0]}`,
    ])
    expect(await phones({ AUTH_PROFILE: 'supabase' })).toEqual(['ok    phone numbers: taken as they are sent'])
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2027-12-01') })
    onTestFinished(() => void vi.useRealTimers())
    expect(await phones()).toEqual([
      'wrong phone numbers: libphonenumber-js 1.13.16 of 2026-11-10, older than a year; install a newer release: countries change how their numbers are written',
    ])
    await client.query('DELETE FROM auth.users')
    await client.end()
  })

  it('report missing rights of the role', async () => {
    const { lines } = await examine({ AUTH_DB_ROLE: 'auth_nobody' })
    expect(lines).toContain('wrong migrations: role "auth_nobody" does not exist; run: auth migrate')
  })

  it('revert the last migration and name it', async () => {
    const own = await createEmptyDatabase()
    onTestFinished(() => own.drop())
    const run = (...words: string[]) => migrate(words, { AUTH_DB_DATABASE_URL: own.url })
    await run()
    const applied = (await run('status')).filter((line) => line.startsWith('applied '))
    const last = applied.at(-1)?.split(' ').at(-1)
    expect(await run('down')).toEqual([`taken back ${last}`])
    const status = await run('status')
    const functions = status.filter((line) => line.startsWith('missing function '))
    expect(status).toEqual([...applied.slice(0, -1), `pending ${last}`, 'no functions are installed', ...functions])
  })
})
