import { createHash } from 'node:crypto'
import { Writable } from 'node:stream'
import { OPERATOR_ROLES, type OperatorRole } from '@trestle/operators/operator-roles.ts'
import { type EmbeddedService, loadEmbeddedService, type Settings } from '@trestle/testing/embedded-service.ts'
import { createTemporaryDatabase, prepared, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { Command } from 'commander'
import { SignJWT } from 'jose'
import pg from 'pg'
import { z } from 'zod'
import type { ServiceName } from '../src/service-calls/service-call.ts'

const JWT_SECRET = 'a secret of at least 32 bytes, for tests'
const ISSUER = 'http://auth.test'

/** The operator key of a role in all services of a test. */
export const keyOf = (role: OperatorRole): string => role.padEnd(43, '-')

export const operatorKeysOf = (roles: readonly OperatorRole[]): string =>
  roles.map((role) => `desk-${role}:${role}:${createHash('sha256').update(keyOf(role)).digest('hex')}`).join(',')

const OPERATOR_KEYS = operatorKeysOf(OPERATOR_ROLES)

const SETTINGS: Readonly<Record<ServiceName, Settings>> = {
  auth: {
    AUTH_DB_DRIVER: 'postgres',
    AUTH_DB_ROLE: 'auth_service',
    AUTH_API_EXTERNAL_URL: ISSUER,
    AUTH_SITE_URL: 'http://localhost:3000',
    AUTH_JWT_SECRET: JWT_SECRET,
    AUTH_MAILER_AUTOCONFIRM: 'true',
    AUTH_METRICS_ENABLED: 'false',
    AUTH_OPERATOR_KEYS: OPERATOR_KEYS,
    AUTH_OPERATOR_REQUIRE_MFA: 'false',
    // A machine with many tests may take its time to hash a password.
    AUTH_API_MAX_REQUEST_DURATION: '60s',
    AUTH_RATE_LIMIT_TOKEN_REFRESH: 'off',
    AUTH_SECURITY_FAILED_ATTEMPTS: 'off',
  },
  payments: {
    PAYMENTS_ALLOW_SEED: 'yes',
    PAYMENTS_DB_ROLE: 'payments_service',
    PAYMENTS_BASE_URL: 'http://payments.test',
    PAYMENTS_PEPPER: Buffer.alloc(32, 'pepper').toString('base64'),
    PAYMENTS_VAULT_KEYS: `1:${Buffer.alloc(32, 'vault').toString('base64')}`,
    PAYMENTS_METRICS_ENABLED: 'false',
    PAYMENTS_RATE_APPS: '0',
    PAYMENTS_RATE_KEY: '0',
    PAYMENTS_OPERATOR_KEYS: OPERATOR_KEYS,
    PAYMENTS_OPERATOR_JWT_SECRET: JWT_SECRET,
    PAYMENTS_OPERATOR_ISSUER: ISSUER,
    PAYMENTS_OPERATOR_REQUIRE_MFA: 'false',
    PAYMENTS_OPERATOR_REFUND_LIMIT: 'EUR:5000',
    PAYMENTS_OPERATOR_REFUND_LIMIT_DAILY: 'EUR:8000',
  },
  inventory: {
    INVENTORY_DB_ROLE: 'inventory_service',
    INVENTORY_METRICS_ENABLED: 'false',
    INVENTORY_OPERATOR_KEYS: OPERATOR_KEYS,
    INVENTORY_OPERATOR_JWT_SECRET: JWT_SECRET,
    INVENTORY_OPERATOR_ISSUER: ISSUER,
    INVENTORY_OPERATOR_REQUIRE_MFA: 'false',
  },
}

/** How long background work may take to end. */
const WORK_MS = 5_000

/** A service on a database of its own, inside the process of the test. */
export interface RunningService {
  readonly name: ServiceName
  readonly url: string
  /** Runs a command of the service, and returns its output. */
  readonly command: (...words: string[]) => Promise<string>
  /**
   * Makes a user an operator, as `auth users assign-role` does. The command would open connections of its own for each of the
   * hundreds of operators in tests.
   */
  readonly assignRole: (email: string, role: OperatorRole) => Promise<unknown>
  /** Runs a statement in the database of the service, for rows that the service itself does not make. Returns the rows. */
  readonly query: (text: string, values?: readonly unknown[]) => Promise<readonly Record<string, unknown>[]>
  /** Stops answering. The database stays, and `stop` drops it. */
  readonly halt: () => Promise<void>
  /** Ends the service, and starts it on its database and its address with changed settings. */
  readonly restart: (changes: Readonly<Record<string, string>>) => Promise<void>
  readonly stop: () => Promise<void>
}

/** Starts a service with a migrated database. @param changes settings over those of all tests */
export async function startService(
  name: ServiceName,
  changes: Readonly<Record<string, string>> = {},
): Promise<RunningService> {
  const service = await loadEmbeddedService(new URL('../../', import.meta.url), name)
  const settingsOf = (url: string) => ({ ...databaseSettings(name, url), ...SETTINGS[name], ...changes })
  const database = await createTemporaryDatabase({
    template: `console ${name}`,
    migrate: (url) => service.migrate(settingsOf(url)),
  })
  let running = await service.open(settingsOf(database.url))
  const url = await running.app.listen(ANY_PORT)
  const halt = async () => {
    const closed = running.app.close()
    // A connection of the console may hold an upload that was refused, which a process would cut when it ends.
    running.app.server.closeAllConnections()
    await closed
    await running.stopWork(WORK_MS)
    await running.close()
  }
  return {
    name,
    url,
    command: (...words) => runCommand(service, settingsOf(database.url), words),
    assignRole: async (email, role) => {
      if (running.assignRole === undefined) throw new Error(`${name} has no users`)
      await running.assignRole(email, role)
    },
    query: (text, values = []) => runStatement(database, text, values),
    halt,
    restart: async (others) => {
      await halt()
      running = await service.open({ ...settingsOf(database.url), ...others })
      await running.app.listen({ ...ANY_PORT, port: Number(new URL(url).port) })
    },
    stop: async () => {
      if (running.app.server.listening) await halt()
      await database.drop()
    },
  }
}

const ANY_PORT = { host: '127.0.0.1', port: 0 }

async function runStatement({ directUrl }: TemporaryDatabase, text: string, values: readonly unknown[]) {
  const client = new pg.Client({ connectionString: directUrl })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text, [...values])).rows
  } finally {
    await client.end()
  }
}

function databaseSettings(name: ServiceName, url: string): Settings {
  const prefix = name.toUpperCase()
  return { [`${prefix}_DATABASE_URL`]: url, [`${prefix}_DB_PREPARED`]: String(prepared) }
}

async function runCommand(service: EmbeddedService, settings: Settings, words: readonly string[]): Promise<string> {
  let printed = ''
  const stdout = new Writable({
    write: (chunk, _encoding, done) => {
      printed += chunk
      done()
    },
  })
  const loaders = service.commands(settings, Object.create(process, { stdout: { value: stdout } }))
  const command = await loaders[words[0] ?? '']?.()
  if (command === undefined) throw new Error(`there is no command ${words[0]}`)
  await new Command().exitOverride().addCommand(command).parseAsync(words, { from: 'user' })
  return printed
}

/** The password of every user of a test. */
export const PASSWORD = 'correct horse battery staple'

export interface TestUser {
  readonly id: string
  readonly email: string
}

export async function callAsAdmin(auth: RunningService, path: string, body: object): Promise<Record<string, unknown>> {
  const token = await new SignJWT({ role: 'service_role' })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(JWT_SECRET))
  const answer = await fetch(auth.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
  return z.record(z.string(), z.unknown()).parse(await answer.json())
}

/** Makes a user, with a console role unless it is undefined. */
export async function createUser(auth: RunningService, email: string, role?: OperatorRole): Promise<TestUser> {
  const { id } = await callAsAdmin(auth, '/admin/users', { email, password: PASSWORD, email_confirm: true })
  if (role !== undefined) await auth.assignRole(email, role)
  return { id: String(id), email }
}
