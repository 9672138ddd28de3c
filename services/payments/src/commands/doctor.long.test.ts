import { createNoopMeter } from '@opentelemetry/api'
import { stateStatements } from '@trestle/citus/notes.ts'
import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { startMailSink } from '@trestle/testing/mail-sink.ts'
import {
  createEmptyDatabase,
  distributed,
  prepared,
  type TemporaryDatabase,
} from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { createMigratedDatabase } from '../../test/payments-app.ts'
import { loadPaymentsConfig } from '../config.ts'
import { DEFAULT_CLAIM } from '../merchants/merchant.ts'
import { migrateOptions } from '../migrations.ts'
import { createPanVault } from '../vault/pan-vault.ts'
import { createWebhookSecrets } from '../webhooks/webhook-secret.ts'
import { doctor } from './doctor.ts'
import { openOperatorDeps } from './operator-deps.ts'

/** The values of the columns `claim` and `pricing` of a merchant, as SQL. */
const TERMS = `'${JSON.stringify(DEFAULT_CLAIM)}', '{"rate":0,"flat":{"currency":"EUR","amount":0},"dispute":{"currency":"EUR","amount":0}}'`
const sink = await startMailSink()
let database: TemporaryDatabase
beforeEach(async () => {
  database = await createMigratedDatabase()
})
afterEach(() => database.drop())
afterAll(() => sink.close())

const load = (changes: Record<string, string> = {}) =>
  loadPaymentsConfig({
    PAYMENTS_BASE_URL: 'http://localhost:8082',
    PAYMENTS_DATABASE_URL: database.url,
    PAYMENTS_DB_PREPARED: String(prepared),
    PAYMENTS_DB_ROLE: 'payments_service',
    PAYMENTS_PEPPER: Buffer.alloc(32, 1).toString('base64'),
    PAYMENTS_VAULT_KEYS: `1:${Buffer.alloc(32, 1).toString('base64')}`,
    PAYMENTS_SMTP_URL: `smtp://127.0.0.1:${sink.port}`,
    PAYMENTS_MAIL_FROM: 'payments@example.com',
    ...changes,
  })

async function examine(changes: Record<string, string> = {}, now = () => new Date()) {
  const lines: string[] = []
  const isHealthy = await doctor(
    () => load(changes),
    (line) => lines.push(line),
    now,
  )
  return { isHealthy, lines }
}

describe('payments doctor', () => {
  it('lists pending migrations, and no problem after migrate', async () => {
    const empty = await createEmptyDatabase()
    onTestFinished(() => empty.drop())
    const before = await examine({ PAYMENTS_DATABASE_URL: empty.url })
    expect(before.isHealthy).toBe(false)
    expect(before.lines).toContainEqual(expect.stringMatching(/^wrong migrations: pending: .*run: payments migrate$/))
    const after = await examine({ PAYMENTS_DB_ROLES: 'hidden' })
    expect(after.lines.filter((line) => !line.startsWith('ok'))).toEqual([
      'note  unknown setting PAYMENTS_DB_ROLES, did you mean PAYMENTS_DB_ROLE?',
    ])
    const ofCluster = distributed
      ? [
          'ok    servers of the cluster: none lacks anything',
          'ok    logins between the servers: no server refuses one',
          'ok    functions on the servers: none is open to everybody',
          'ok    internal functions of Citus: not open to everybody',
          'ok    prepared transactions: none lacks anything',
        ]
      : []
    expect(after.lines.slice(-10 - ofCluster.length)).toEqual([
      ...ofCluster,
      'ok    clock: agrees with that of the database',
      'ok    SMTP: answers',
      'ok    URLs: http://localhost:8082',
      'ok    acquirers: none, live merchants take no payments',
      'ok    vault keys: decrypt what they have encrypted',
      'ok    webhooks: take events by the schemes that are allowed',
      'ok    exchange rates: the embedded ones, for test merchants',
      'ok    bank accounts: 0 of live merchants, all of their countries',
      'ok    data of currencies and banks: of 2026-04-11 or later',
      'ok    dead jobs: none',
    ])
    expect(after.isHealthy).toBe(true)
  })

  it.each([
    ['distributing', 'payments distribute'],
    ['undoing', 'payments distribute --undo'],
  ] as const)('names the run to continue and no migration while a database is %s', async (state, command) => {
    const options = migrateOptions(load())
    await withDatabase(options, async (db) => {
      for (const statement of stateStatements(options.names, state)) await sql.raw(statement).execute(db)
      // `distribute --undo` creates its helper functions again only at its end. Simulate a run that has not reached its end.
      await sql`DROP FUNCTION payments.finish_operator_change`.execute(db)
    })
    const { isHealthy, lines } = await examine()
    expect([isHealthy, lines.filter((line) => line.startsWith('wrong'))]).toEqual([
      false,
      [
        `wrong distribution: the database is ${state}, and takes no writes until that has ended, so not checked: migrations; unless it still runs, run again: ${command}`,
      ],
    ])
  })

  it('asks every server by which requests enter', async () => {
    const { host } = new URL(database.directUrl)
    const over = async (...hosts: readonly string[]) => {
      const { lines } = await examine({
        PAYMENTS_DATABASE_URL: database.directUrl.replace(host, hosts.join(',')),
        PAYMENTS_COORDINATOR_URL: database.directUrl,
      })
      return lines.filter((line) => line.includes(' entries: '))
    }
    expect(await over(host)).toEqual(['ok    entries: answers'])
    expect(await over(host, host)).toEqual(['ok    entries: all 2 answer'])
    expect(await over(host, '127.0.0.1:1')).toEqual([
      'wrong entries: 127.0.0.1:1 does not answer; start the server, or take it out of PAYMENTS_DATABASE_URL',
    ])
  })

  it('reports only that the database is unavailable, and checks what needs no database', async () => {
    expect(await examine({ PAYMENTS_DATABASE_URL: 'postgres://trestle@127.0.0.1:1/trestle' })).toEqual({
      isHealthy: false,
      lines: [
        'ok    settings',
        'ok    log file: none, lines go to standard output',
        'wrong database: connect ECONNREFUSED 127.0.0.1:1, so not checked: migration database, migrations, clock, ' +
          'acquirers, vault keys, webhooks, exchange rates, bank accounts, dead jobs; start PostgreSQL, or correct PAYMENTS_DATABASE_URL',
        'ok    SMTP: answers',
        'ok    URLs: http://localhost:8082',
        'ok    data of currencies and banks: of 2026-04-11 or later',
      ],
    })
  })

  it('lists acquirers, and refuses one to which card numbers would travel without TLS', async () => {
    const set = (value: string) => examine({ PAYMENTS_ACQUIRERS: value })
    const { lines } = await set('north=https://:s3cret@north.example, south=http://:s3cret@127.0.0.1:9000')
    expect(lines).toContain('ok    acquirers: north by TLS, south on this machine')
    const refused = await set('bridge=http://:s3cret@bridge.example/cards')
    expect(refused.isHealthy).toBe(false)
    expect(refused.lines.join('\n')).toContain('PAYMENTS_ACQUIRERS must be https, except for this machine')
    expect(refused.lines.join('\n')).not.toContain('s3cret')
  })

  it('says what to do about each problem', async () => {
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    await client.query(`
      INSERT INTO payments.merchants (id, tag, key, currency, test, email, website, descriptor, country, claim, pricing, created, acquirer, iban)
      VALUES (repeat('a', 24), repeat('a', 8), gen_random_uuid(), 'DKK', false, 'a@shop.example', '', 'Shop', 'DK', ${TERMS}, now(), 'gone', 'DE5137040044053201300');
      INSERT INTO payments_jobs.job (name, source_name, source_output, data)
      VALUES ('clean_up_dead', 'clean_up', '{"message": "no room"}', '{}')`)
    await client.end()
    const changes = { PAYMENTS_SMTP_URL: 'smtp://127.0.0.1:1', PAYMENTS_BASE_URL: 'http://payments.example' }
    const { isHealthy, lines } = await examine(changes, () => new Date(Date.now() + 60_000))
    expect(isHealthy).toBe(false)
    const wrong = lines
      .filter((line) => line.startsWith('wrong'))
      .map((line) => line.replace(/\d+ s|connect .*?;/, '…'))
    expect(wrong).toEqual([
      'wrong clock: … from that of the database; let both machines follow the same time source (NTP)',
      'wrong SMTP: … start the mail server, or correct PAYMENTS_SMTP_URL',
      'wrong URLs: http://payments.example is not https; put the service behind a TLS proxy and set its https address as PAYMENTS_BASE_URL',
      'wrong acquirers: not set, and live merchants have them: gone; add them to PAYMENTS_ACQUIRERS, or give the merchants another: payments merchants acquirer <id> <name>',
      'wrong exchange rates: none were imported, and there are live merchants; run: payments fx import, with the file of the European Central Bank',
      `wrong bank accounts: no IBAN of its country, so no file pays: merchant ${'a'.repeat(24)}; ask these merchants, then run: payments merchants bank <id> <iban>, and payments payouts fail <id> for each that waits`,
      'wrong dead jobs: 1 of clean_up (no room); look at payments tasks list, mend the cause, then run: payments tasks retry <task>',
    ])
  })

  it('names webhooks by http where it is not allowed', async () => {
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    await client.query(`
      INSERT INTO payments.merchants (id, tag, key, currency, test, email, website, descriptor, country, claim, pricing, created)
      VALUES (repeat('e', 24), repeat('e', 8), gen_random_uuid(), 'DKK', true, 'a@shop.example', '', 'Shop', 'DK', ${TERMS}, now());
      INSERT INTO payments.webhooks (merchant_id, id, created, url, events, secret_sealed)
      VALUES (repeat('e', 24), repeat('d', 24), now(), 'http://shop.example:8080/', '{}', '')`)
    const linesWith = async (changes: object) =>
      (await examine({ ...changes })).lines.filter((line) => line.includes(' webhooks: '))
    expect(await linesWith({})).toEqual([
      `wrong webhooks: 1 by http, which is not allowed, so nothing is sent: ${'d'.repeat(24)}; ask these merchants for https URLs, or set PAYMENTS_WEBHOOK_ALLOW_HTTP for test merchants`,
    ])
    const allowed = ['ok    webhooks: take events by the schemes that are allowed']
    expect(await linesWith({ PAYMENTS_WEBHOOK_ALLOW_HTTP: 'true' })).toEqual(allowed)
    await client.query(`DELETE FROM payments.webhooks WHERE id = repeat('d', 24)`)
    await client.end()
    expect(await linesWith({})).toEqual(allowed)
  })

  it('says when the data of currencies and banks are older than a year', async () => {
    const { lines } = await examine({}, () => new Date('2027-12-01T00:00:00Z'))
    expect(lines.filter((line) => line.includes('data of'))).toEqual([
      'wrong data of currencies and banks: older than a year: currencies of 2026-11-29, countries of SEPA of 2026-11-29, ibantools 4.5.4 of 2026-04-11, letters of 2026-11-29, bank days of 2026-11-29; install a newer release: currencies end, and countries join SEPA',
    ])
  })

  it('names a key of the vault that differs from the key that encrypted under its id', async () => {
    const place = { merchantId: 'b'.repeat(24), instrumentId: 'c'.repeat(24) }
    const [one, two] = [1, 2].map((id) => ({ id, key: Buffer.alloc(32, id) }))
    if (!one || !two) throw new Error('two keys')
    const { encrypted, mac } = createPanVault([one], createNoopMeter()).encrypt('4242424242424242', place)
    const secret = createWebhookSecrets({ vaultKeys: [two], pepper: Buffer.alloc(32, 1) }).encrypt(
      's',
      place.merchantId,
    )
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    await client.query(`
      INSERT INTO payments.merchants (id, tag, key, currency, test, email, website, descriptor, country, claim, pricing, created)
      VALUES (repeat('b', 24), repeat('b', 8), gen_random_uuid(), 'DKK', true, 'a@shop.example', '', 'Shop', 'DK', ${TERMS}, now())`)
    await client.query(
      `INSERT INTO payments.instruments (merchant_id, id, created, pan_sealed, key_id, pan_mac, bin, last4, expiry)
      VALUES ($1, $2, now(), $3, 1, $4, '424242', '4242', '2066-08-31')`,
      [place.merchantId, place.instrumentId, encrypted, mac],
    )
    await client.query(
      `INSERT INTO payments.webhooks (merchant_id, id, created, url, events, secret_sealed)
      VALUES ($1, $2, now(), 'https://shop.example', '{}', $3)`,
      [place.merchantId, place.instrumentId, secret],
    )
    await client.end()
    const keys = (first: number, second: number) =>
      [first, second].map((byte, index) => `${index + 1}:${Buffer.alloc(32, byte).toString('base64')}`).join()
    const linesWith = async (value: string) =>
      (await examine({ PAYMENTS_VAULT_KEYS: value })).lines.filter((line) => line.includes('vault keys'))
    expect(await linesWith(keys(1, 2))).toEqual(['ok    vault keys: decrypt what they have encrypted'])
    const advice = 'give PAYMENTS_VAULT_KEYS back the keys that encrypted data, each under its id'
    for (const [value, ids] of [
      [keys(9, 2), '1'],
      [keys(1, 9), '2'],
      [keys(9, 8), '1, 2'],
    ] as const) {
      expect(await linesWith(value)).toEqual([
        `wrong vault keys: data encrypted with key ${ids} cannot be decrypted; ${advice}`,
      ])
    }
  })

  it('finds that migrations, operators or the standby use another database than the service, and refuses operators', async () => {
    const other = await createMigratedDatabase()
    onTestFinished(() => other.drop())
    const { lines } = await examine({
      PAYMENTS_MIGRATION_DATABASE_URL: other.url,
      PAYMENTS_DB_READ_URL: other.url,
    })
    expect(lines.filter((line) => /standby|migration database/.test(line))).toEqual([
      'wrong migration database: this is not the database of PAYMENTS_DATABASE_URL; correct PAYMENTS_MIGRATION_DATABASE_URL',
      'wrong standby: this is not the database of PAYMENTS_DATABASE_URL; start it, or correct PAYMENTS_DB_READ_URL; the primary serves its reads meanwhile',
    ])
    await expect(openOperatorDeps(load({ PAYMENTS_MIGRATION_DATABASE_URL: other.url }))).rejects.toHaveProperty(
      'message',
      'PAYMENTS_MIGRATION_DATABASE_URL is another database than PAYMENTS_DATABASE_URL',
    )
    const sameUrl = new URL(database.url)
    sameUrl.searchParams.set('application_name', 'operator')
    const { close } = await openOperatorDeps(load({ PAYMENTS_MIGRATION_DATABASE_URL: sameUrl.href }))
    await close()
  })
})
