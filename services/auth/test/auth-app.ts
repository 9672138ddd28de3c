import { createNoopMeter, type Meter } from '@opentelemetry/api'
import type { Server } from '@trestle/common/server/create-server.ts'
import { createLogger } from '@trestle/common/telemetry/logger.ts'
import { authMigrations } from '@trestle/migrations/auth.ts'
import {
  adopted,
  createTemporaryDatabase,
  prepared,
  type TemporaryDatabase,
} from '@trestle/testing/temporary-database.ts'
import type { FastifySchema, LightMyRequestResponse } from 'fastify'
import { buildApp } from '../src/app.ts'
import { loadAuthConfig } from '../src/config.ts'
import { type AuthDeps, createDeps } from '../src/deps.ts'
import { migrateToLatest } from '../src/migrations.ts'
import { fitToDatabase } from '../src/open-database.ts'
import { documentNotes } from '../src/openapi.ts'
import { createAdoptedDatabase } from './adopted-database.ts'
import { createFakeClock, type FakeClock } from './fake-clock.ts'
import { runRemembered } from './remembered-hashes.ts'

/** The whole service without a socket. Tests send requests by `app.inject`. */
export interface TestApp {
  readonly app: Server
  readonly deps: AuthDeps
  readonly clock: FakeClock
  readonly database: TemporaryDatabase
  post(url: string, payload: object | string, headers?: Record<string, string>): Promise<LightMyRequestResponse>
  close(): Promise<void>
}

/** The parts of the service that a test can change. */
export interface TestAppOptions {
  /** Settings by their full name, which override those of the tests. */
  readonly settings?: Readonly<Record<string, string>>
  /** The meter of the service. Without it, nothing is measured. */
  readonly meter?: Meter
  /** The destination of log lines. Without it, nothing is logged. */
  readonly logger?: AuthDeps['logger']
  /** Replaces some dependencies. */
  readonly replace?: (deps: AuthDeps) => Partial<AuthDeps>
  /** The database of another service, which closes later. Default: a new one. */
  readonly database?: TemporaryDatabase
}

const ROLE = 'auth_service'
const SETTINGS: Readonly<Record<string, string>> = {
  AUTH_SITE_URL: 'http://localhost:3000',
  AUTH_API_EXTERNAL_URL: 'http://localhost:8081',
  AUTH_DB_DRIVER: 'postgres',
  AUTH_DB_ROLE: ROLE,
  AUTH_JWT_SECRET: 'a secret of at least 32 bytes, for tests',
  AUTH_SMTP_HOST: '127.0.0.1',
  AUTH_SMTP_PORT: '1',
  AUTH_SMTP_ADMIN_EMAIL: 'admin@example.com',
  ...(process.env.TEST_AUTH_PROFILE && { AUTH_PROFILE: process.env.TEST_AUTH_PROFILE }),
}
/** Tables of supabase/auth have no prefix, and show their rows only to their owner. */
const ADOPTED = { AUTH_DB_ROLE: '', AUTH_DB_NAMESPACE: '' }

/** Builds the service like `serve`, with a stopped clock and without its job worker. */
export async function openTestApp({
  settings = {},
  meter = createNoopMeter(),
  logger = createLogger({ level: 'panic', stdout: false }).logger,
  replace = () => ({}),
  database: shared,
}: TestAppOptions = {}): Promise<TestApp> {
  const env = { ...SETTINGS, ...settings, ...(adopted && ADOPTED) }
  const database = shared ?? (await createDatabase(env))
  const clock = createFakeClock()
  const telemetry = {
    metrics: { meter, enabled: false, listen: async () => undefined, close: async () => {} },
    tracing: { instrument: refuseUndocumented, close: async () => {} },
  }
  const open = await createDeps(load(env, database.url), { logger }, telemetry, runRemembered)
  const standing = { ...open, config: await fitToDatabase(open.config, open.database), now: clock.now }
  const deps = { ...standing, ...replace(standing) }
  await deps.signingKeys.load()
  const app = await buildApp(deps)
  return {
    app,
    deps,
    clock,
    database,
    post: (path, payload, headers = {}) => app.inject({ method: 'POST', url: path, payload, headers }),
    close: async () => {
      await app.close()
      await open.close()
      if (shared === undefined) await database.drop()
    },
  }
}

function createDatabase(env: Readonly<Record<string, string>>): Promise<TemporaryDatabase> {
  if (adopted) return createAdoptedDatabase((url) => load(env, url))
  // The profile decides whether `migrate` creates pgcrypto.
  const choices = [env.AUTH_DB_SCHEMA, env.AUTH_DB_NAMESPACE, env.AUTH_PROFILE === 'supabase']
  return createTemporaryDatabase({
    template: `auth app ${choices.join(' ')} ${Object.keys(authMigrations).join(' ')}`,
    migrate: (url) => migrateToLatest(load(env, url)),
  })
}

/** A busy machine takes several times as long as an idle one. */
const PATIENT = { AUTH_API_MAX_REQUEST_DURATION: '100s' }
const LIMITS = { statementTimeoutMs: 60_000, lockTimeoutMs: 10_000, connectionWaitMs: 60_000 }

function load(env: Readonly<Record<string, string>>, url: string) {
  const config = loadAuthConfig({ AUTH_DB_PREPARED: String(prepared), ...PATIENT, ...env, AUTH_DATABASE_URL: url })
  return { ...config, database: { ...config.database, ...LIMITS } }
}

/**
 * Fails a request if its route does not document the status or a header of the response, or if a required header is missing.
 * Hooks and application triggers may respond with any status.
 */
async function refuseUndocumented(app: Server): Promise<void> {
  app.addHook('onSend', async ({ method, routeOptions, errorCode }, reply, payload) => {
    const documented = Object.keys(routeOptions.schema?.response ?? {})
    const isByHook = /^(hook_.*|unknown)$/.test(errorCode ?? '')
    const isByTrigger = String(payload).startsWith('{"code":"PT')
    if (documented.length === 0 || isByHook || isByTrigger) return payload
    const route = `${method} ${routeOptions.url}`
    const status = String(reply.statusCode)
    if (!documented.includes(status)) throw new Error(`${route} does not document the status ${status}`)
    const problem = findHeaderProblem(routeOptions.schema, status, reply.getHeaders())
    if (problem !== undefined) throw new Error(`${route} with ${status}: ${problem}`)
    return payload
  })
}

/** Headers that clients use. Responses with such a header must document it. */
const TOLD = ['www-authenticate', 'retry-after', 'location', 'link', 'x-total-count', 'x-redirect-refused']

function findHeaderProblem(
  { operationId = '', tags = [] }: FastifySchema = {},
  status: string,
  headers: Readonly<Record<string, unknown>>,
): string | undefined {
  const operation = { method: '', path: '', operationId, tags }
  const notes = Object.entries(documentNotes.answerHeaders?.(operation, status) ?? {})
  const names = notes.map(([name]) => name.toLowerCase())
  const stray = TOLD.find((name) => headers[name] !== undefined && !names.includes(name))
  if (stray !== undefined) return `the header ${stray} is not documented`
  const missing = notes.find(([name, { required }]) => required && headers[name.toLowerCase()] === undefined)
  return missing && `the header ${missing[0]} is missing`
}
