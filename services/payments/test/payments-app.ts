import { createSecretKey, randomBytes, randomUUID } from 'node:crypto'
import { createNoopMeter } from '@opentelemetry/api'
import { type DistributeOptions, distributeDatabase } from '@trestle/citus/distribute.ts'
import { createReadiness } from '@trestle/common/lifecycle/readiness.ts'
import { createOutbound, type NameLookup } from '@trestle/common/outbound/outbound.ts'
import { type Database, openDatabase } from '@trestle/database/connect.ts'
import { createNames } from '@trestle/database/names.ts'
import { passwordOf } from '@trestle/database/rights/roles.ts'
import type { StandbyConfig } from '@trestle/database/standby.ts'
import { createJobs } from '@trestle/jobs/jobs.ts'
import { createOutbox } from '@trestle/jobs/outbox.ts'
import type { OperatorAccess } from '@trestle/operators/operator.ts'
import { type LimiterStore, memoryStore } from '@trestle/rate-limits/limiter-store.ts'
import type { MailSink } from '@trestle/testing/mail-sink.ts'
import {
  createTemporaryDatabase,
  distributed,
  prepared,
  type TemporaryDatabase,
} from '@trestle/testing/temporary-database.ts'
import { type RawBuilder, sql } from 'kysely'
import { pino } from 'pino'
import { expect, inject } from 'vitest'
import type { Acquirer } from '../src/acquirers/acquirer.ts'
import { createAcquirers } from '../src/acquirers/acquirers.ts'
import { createSimulator } from '../src/acquirers/simulator.ts'
import { buildApp } from '../src/app.ts'
import { startWork, stopWork } from '../src/commands/serve.ts'
import type { RateLimitConfig } from '../src/config/rate-limits.ts'
import type { Db, PaymentsTables, Trx } from '../src/database.ts'
import { type OperatorDeps, type PaymentsDeps, SOURCES } from '../src/deps.ts'
import { createMailer } from '../src/mail/mailer.ts'
import { createUserTokens, type VerifyUserToken } from '../src/members/user-token.ts'
import { migrateOptions, migrateToLatest } from '../src/migrations.ts'
import { findExchanged } from '../src/money/rate-repository.ts'
import { createDistributed, PLAIN } from '../src/placement/placement.ts'
import { readAgain } from '../src/placement/tenants.ts'
import { createRefusalLimit } from '../src/rate-limits/card-testing.ts'
import { createRateLimits } from '../src/rate-limits/rate-limits.ts'
import { createOperationGroup } from '../src/transactions/operation-group.ts'
import { createCheckoutCiphers } from '../src/vault/encryption.ts'
import { createPanVault } from '../src/vault/pan-vault.ts'
import { createDeliveryTimes } from '../src/webhooks/delivery.ts'
import { takeJobs } from '../src/webhooks/outbox.ts'
import { createWebhookSecrets } from '../src/webhooks/webhook-secret.ts'
import { payoutSettings } from './bodies.ts'

/** The placement of the rows of the databases of tests. */
export const placement = distributed ? createDistributed(SOURCES.now) : PLAIN
const ROLE = 'payments_service'
const OPERATOR_ROLE = 'payments_operators'
/** On a cluster, requests that write tables which every server has wait for each other. */
const LOCK_TIMEOUT_MS = distributed ? 2_000 : 300
const POOL_CONNECTIONS = 8
const STATEMENT_TIMEOUT_MS = 60_000
const HANDLER_TIMEOUT_MS = 100_000
/** No limit at all. */
export const UNLIMITED: RateLimitConfig = {
  requestsPerSecond: 0,
  appsPerMinute: 0,
  failuresPerMinute: 0,
  checkoutsPerSecond: 0,
  refusalsPerTenMinutes: 0,
  mailsPerHour: 0,
  invitationsPerHour: 0,
}

/** The secret of the MACs of keys. */
export const testPepper = createSecretKey(Buffer.alloc(32, 7))

/** The parts of the service that a test changes. */
export interface TestOptions {
  /** The lock timeout. Default: short. */
  readonly lockTimeoutMs?: number
  readonly rateLimits?: Partial<RateLimitConfig>
  /** The store of rate limits. Default: memory. */
  readonly limiterStore?: LimiterStore
  /** The mail server. Background work runs with it, or with `work`. */
  readonly smtp?: MailSink
  readonly work?: boolean
  /** Checks tokens of users. Undefined: users cannot call. */
  readonly verifyUser?: VerifyUserToken
  /** The keys and users that may call as an operator. Undefined: nobody. */
  readonly operators?: OperatorAccess
  /** The amounts that operators with the role support may refund. Default: nothing. */
  readonly refundLimits?: PaymentsDeps['config']['refundLimits']
  /** Hosts of the operator's own network that may have webhooks. */
  readonly webhookHosts?: readonly string[]
  /** Replaces the look-up of the names of webhooks. Default: that of the service. */
  readonly findAddresses?: NameLookup
  readonly authorizationExpiryDays?: number
  readonly requireTls?: boolean
  readonly vaultHost?: string
  readonly registration?: PaymentsDeps['config']['registration']
  readonly trustedProxies?: number
  readonly docsEnabled?: boolean
  /** The public address. Default: one that nobody can call. */
  readonly baseUrl?: string
  /** The host whose root is the payment page. */
  readonly posHost?: string
  /** The clock of the process. Default: the real one. */
  readonly now?: () => Date
  /** Acquirers that live merchants may have. */
  readonly acquirers?: ReadonlyMap<string, Acquirer>
  /** Replaces waiting. Default: that of the service. */
  readonly wait?: PaymentsDeps['wait']
  /** Called with each log line. */
  readonly onLog?: (line: Record<string, unknown>) => void
}

/** The service on a database of its own. */
export interface TestPayments {
  readonly app: Awaited<ReturnType<typeof buildApp>>
  readonly deps: PaymentsDeps
  /** The database with the role of the service. */
  readonly service: Database<PaymentsTables>
  /** The database as commands of operators use it. */
  readonly owner: Database<PaymentsTables>
  /** The database with the role of operators. */
  readonly operators: Database<PaymentsTables>
  /**
   * The pools of the service, with a `db` that has the rights of the owner, so that a test may alter what the service
   * cannot.
   */
  readonly database: Database<PaymentsTables>
  /** The URL with the login of the owner. */
  readonly url: string
  close(): Promise<void>
}

const owned = (url: string, { role = ROLE, operatorRole = OPERATOR_ROLE }: TestRoles = {}) => ({
  database: { migrationUrl: url, namespace: '', role, operatorRole },
})

/**
 * Returns the options that distribute the database of a test, and bring it back. The servers of a cluster have one password for
 * every user but the role of operators.
 * @param roles of the service and of operators
 */
export function distributionOptions(url: string, roles: TestRoles = {}): DistributeOptions {
  return {
    ...migrateOptions(owned(url, roles)),
    passwords: {
      service: { value: passwordOf(url), place: 'that of the service' },
      operators: { value: roles.operatorPassword ?? inject('operatorPassword'), place: 'that of operators' },
    },
    ...{ column: 'merchant_id', lockTimeoutMs: LOCK_TIMEOUT_MS, applicationName: 'entered' },
  }
}

/** Roles in place of those that every database of a cluster shares. */
interface TestRoles {
  readonly role?: string
  readonly operatorRole?: string
  readonly operatorPassword?: string
}

/** Makes a migrated database. */
export function createMigratedDatabase(): Promise<TemporaryDatabase> {
  return createTemporaryDatabase({
    template: 'payments',
    migrate: (url) => migrateToLatest(owned(url)),
    distribute: (url) => distributeDatabase(distributionOptions(url)),
  })
}

/** Makes a migrated database, and connects to it as the service and as its owner. */
export async function openTestDatabase({ lockTimeoutMs = LOCK_TIMEOUT_MS }: Pick<TestOptions, 'lockTimeoutMs'> = {}) {
  const temporary = await createMigratedDatabase()
  // A statement that may wait for a lock for so long must not be ended before.
  const waits = { lockTimeoutMs, statementTimeoutMs: Math.max(STATEMENT_TIMEOUT_MS, lockTimeoutMs) }
  const service = openAs(ROLE, { url: temporary.entryUrl, coordinatorUrl: temporary.url, ...waits })
  const owner = openAs(undefined, { url: temporary.url, ...waits })
  const operators = openAs(OPERATOR_ROLE, { url: temporary.url, ...waits })
  if (distributed && lockTimeoutMs !== LOCK_TIMEOUT_MS) await limitWaits(owner.db, lockTimeoutMs)
  return {
    service,
    owner,
    operators,
    database: { ...service, db: owner.db },
    url: temporary.url,
    close: async () => {
      await Promise.all([service.close(), owner.close(), operators.close()])
      await temporary.drop()
    },
  }
}

/** The limit of a session does not reach the servers of a cluster, and `distribute` sets theirs for all databases. */
async function limitWaits(db: Db, lockTimeoutMs: number): Promise<void> {
  const alter = [ROLE, 'CURRENT_USER'].map((role) => `ALTER ROLE ${role} IN DATABASE %1$I SET lock_timeout = %2$L`)
  await sql`
    SELECT run_command_on_workers(format(${alter.join(';')}, current_database(), ${`${lockTimeoutMs}ms`}::text))`.execute(
    db,
  )
}

interface OpenOptions {
  readonly url: string
  readonly coordinatorUrl?: string
  readonly lockTimeoutMs: number
  /** For how long a statement may take. Default: 5 s. */
  readonly statementTimeoutMs?: number
  readonly standby?: StandbyConfig | undefined
}

/**
 * How many connections read. They open at once. The owner runs commands, which read one thing after the other. Statements on one
 * connection wait for each other, which is seen where they take longer.
 */
function readConnectionsOf(role: string | undefined): number {
  if (role === undefined) return 1
  return distributed ? 4 : 2
}

/**
 * Connects on demand.
 * @param role undefined: the owner
 */
export function openAs(
  role: string | undefined,
  { url, coordinatorUrl, lockTimeoutMs, statementTimeoutMs = STATEMENT_TIMEOUT_MS, standby }: OpenOptions,
): Database<PaymentsTables> {
  return openDatabase<PaymentsTables>({
    url,
    coordinatorUrl,
    names: createNames('payments'),
    applicationName: 'payments-test',
    poolSize: POOL_CONNECTIONS,
    readConnections: readConnectionsOf(role),
    role,
    statementTimeoutMs,
    lockTimeoutMs,
    // A thousand requests at once keep a busy machine for long.
    connectionWaitMs: 60_000,
    prepared,
    findOwner: placement.findOwner,
    readAgain,
    standby,
    onConnectionError: () => {},
  })
}

/** The vault of tests. */
const TEST_VAULT_KEYS = [{ id: 1, key: Buffer.alloc(32, 1) }] as const
const testVault = createPanVault(TEST_VAULT_KEYS, createNoopMeter())

/** The service with a database of its own, and without rate limits unless some are given. */
export async function startPayments(options: TestOptions = {}): Promise<TestPayments> {
  const { work = options.smtp !== undefined } = options
  const opened = await openTestDatabase(options)
  const { service, owner, operators, database, url } = opened
  const jobs = createTestJobs(opened)
  const deps = testDepsOf(options, { ...opened, jobs })
  const app = await buildApp(deps, HANDLER_TIMEOUT_MS)
  await app.ready()
  if (work) {
    await jobs.open()
    await startWork({ ...deps, db: service.db, placement })
  }
  return {
    app,
    deps,
    service,
    owner,
    operators,
    database,
    url,
    close: async () => {
      await app.close()
      deps.mailer?.close()
      if (work) await stopWork(deps, 5_000)
      await opened.close()
    },
  }
}

type OpenedDatabase = Awaited<ReturnType<typeof openTestDatabase>>

function createTestJobs({ service, url }: OpenedDatabase) {
  return createJobs({
    url,
    schema: service.names.jobSchema,
    role: ROLE,
    prepared,
    applicationName: 'payments-test-jobs',
    payloadKeys: [Buffer.alloc(32, 9)],
    meter: createNoopMeter(),
    onError: () => {},
    now: SOURCES.now,
  })
}

function createTestMailer({ smtp }: TestOptions) {
  const sender = { from: 'payments@example.com', requireTls: false, greetingName: 'localhost' }
  return smtp && createMailer({ url: `smtp://${smtp.host}:${smtp.port}`, ...sender })
}

/** Builds what `createDeps` builds in a process, over the database of a test. */
function testDepsOf(
  options: TestOptions,
  { service, operators, jobs }: OpenedDatabase & { readonly jobs: ReturnType<typeof createTestJobs> },
): PaymentsDeps {
  const { rateLimits, onLog, wait = SOURCES.wait } = options
  const readiness = createReadiness({ database: () => service.ping() })
  readiness.markReady()
  const logger = onLog ? pino({ base: {} }, { write: (line) => onLog(JSON.parse(line)) }) : pino({ enabled: false })
  const times = createDeliveryTimes()
  const limits = createRateLimits({ ...UNLIMITED, ...rateLimits }, options.limiterStore ?? memoryStore())
  return {
    config: configOf(options),
    pools: service.pools,
    rateLimits: limits,
    acquirers: createAcquirers({
      simulator: createSimulator({
        wait,
        convert: (money, currency) => findExchanged(service.pools, money, currency),
      }),
      others: options.acquirers ?? new Map(),
      wait,
      logger,
      meter: createNoopMeter(),
    }),
    vault: testVault,
    ciphers: createCheckoutCiphers(TEST_VAULT_KEYS),
    limitRefusals: createRefusalLimit(limits, createNoopMeter()),
    operations: createTestGroup(service),
    wait,
    pepper: testPepper,
    generateApiKey: () => randomUUID(),
    usedKeys: new Map(),
    now: options.now ?? (() => new Date()),
    randomBytes,
    jobs,
    names: service.names,
    mailer: createTestMailer(options),
    outbox: createOutbox({
      db: service.db,
      jobs,
      take: takeJobs(placement.takeRows(service.db), { times, meter: undefined }),
      onError: () => {},
    }),
    webhooks: {
      // Tests listen on loopback.
      outbound: createOutbound(options.webhookHosts ?? [], options.findAddresses),
      secrets: createWebhookSecrets({ vaultKeys: TEST_VAULT_KEYS, pepper: testPepper.export() }),
      allowHttp: true,
      times,
    },
    operators: options.operators,
    operatorDb: operators.db,
    operatorPools: operators.pools,
    userTokens: options.verifyUser && createUserTokens(service.pools, options.verifyUser),
    logger,
    meter: createNoopMeter(),
    tracing: { instrument: async () => {} },
    readiness,
  }
}

/** The settings of tests, which are the defaults but for what a test changes. */
function configOf(options: TestOptions): PaymentsDeps['config'] {
  return {
    server: {
      baseUrl: options.baseUrl ?? 'https://payments.example',
      docsEnabled: options.docsEnabled ?? true,
      trustedProxies: options.trustedProxies ?? 0,
    },
    checkout: {
      posUrl: 'https://payments.example/pos',
      posHost: options.posHost,
      vaultHost: options.vaultHost,
      requireTls: options.requireTls ?? false,
    },
    dayLimits: {
      authorizationExpiryDays: options.authorizationExpiryDays ?? 0,
      confirmationDays: 3,
      rateAgeDaysMax: 7,
    },
    payouts: payoutSettings,
    pricing: { rate: 135, flat: { currency: 'EUR', amount: 25 }, dispute: { currency: 'EUR', amount: 2_500 } },
    registration: options.registration ?? 'open',
    unusedAppDays: 0,
    seedAllowed: true,
    refundLimits: options.refundLimits ?? { once: new Map(), daily: new Map() },
  }
}

function createTestGroup({ pools }: Database<PaymentsTables>) {
  const terms = { marginBasisPoints: 0, ageDaysMax: 7 }
  return createOperationGroup({ pools, meter: createNoopMeter(), scope: () => placement.batchScope, terms })
}

/** A second process of the same service, with connections and a group commit of its own, and perhaps a standby. */
export async function secondProcess(first: TestPayments, standby?: StandbyConfig): Promise<TestPayments> {
  const { url } = first
  const service = openAs(ROLE, { url, lockTimeoutMs: 30_000, standby })
  const own = { ...first.deps, pools: service.pools, operations: createTestGroup(service) }
  const app = await buildApp(own, HANDLER_TIMEOUT_MS)
  await app.ready()
  const close = async () => {
    await app.close()
    await service.close()
  }
  const { owner, operators, database } = first
  return { app, deps: own, service, owner, operators, database: { ...service, db: database.db }, url, close }
}

/** The dependencies of operators' commands, which leave the database open. */
export function operatorDeps({ deps, owner }: Pick<TestPayments, 'deps' | 'owner'>): OperatorDeps {
  return {
    ...deps,
    db: owner.db,
    pools: owner.pools,
    names: owner.names,
    placement,
    webhookSecrets: deps.webhooks.secrets,
    close: async () => {},
  }
}

/**
 * The call of the SQL function for captures, refunds and voids that suits the database. @param terms the arguments after the
 * merchant
 */
export async function operationsCall(
  { service }: Pick<TestPayments, 'service'>,
  transactionId: string,
  terms: RawBuilder<unknown>,
): Promise<RawBuilder<unknown>> {
  if (placement.findOwner === undefined) return sql`${sql.table('run_operations')}(${terms})`
  const owner = await placement.findOwner(service.pools.read, transactionId)
  return sql`${sql.table('run_merchant_operations')}(${owner}, ${terms})`
}

/** Turns triggers and foreign keys off until the end of a database transaction, on each node of a cluster. */
export async function turnOffTriggers(trx: Trx): Promise<void> {
  await sql`SET LOCAL citus.propagate_set_commands = 'local'`.execute(trx)
  await sql`SET LOCAL session_replication_role = replica`.execute(trx)
}

/** An app with the plain text of its first API key. */
export interface TestApp {
  readonly id: string
  readonly key: string
  /** The headers of a request with the key. */
  readonly headers: { readonly authorization: string }
}

/** The Authorization header of a key. */
export function basic(key: string): { readonly authorization: string } {
  return { authorization: `Basic ${Buffer.from(`:${key}`).toString('base64')}` }
}

/** Makes an app over the API. */
export async function createTestApp({ app }: Pick<TestPayments, 'app'>): Promise<TestApp> {
  const response = await app.inject({ method: 'POST', url: '/apps' })
  expect(response.statusCode).toBe(201)
  const { id, key } = response.json().app
  return { id, key, headers: basic(key) }
}

/** The smallest body of a new merchant. */
export const merchantBody = {
  currency: 'DKK',
  email: 'john@example.com',
  website: 'https://example.com',
  descriptor: 'Coffee & John',
  company: { country: 'DK' },
}

/** Makes a merchant over the API, and answers its JSON. */
export async function createTestMerchant(
  { app }: Pick<TestPayments, 'app'>,
  { headers }: TestApp,
  changes: object = {},
): Promise<{ id: string; [field: string]: unknown }> {
  const body = { ...merchantBody, ...changes }
  const response = await app.inject({ method: 'POST', url: '/merchants', headers, payload: body })
  expect(response.statusCode).toBe(201)
  return response.json().merchant
}

/** The instant in an id, as an answer writes it. */
export function createdOf(id: string): string {
  const ms = Number.parseInt(id.slice(0, 8), 16) * 1_000 + Number.parseInt(id.slice(8, 11), 16)
  return new Date(ms).toISOString()
}

/** An id of no object. */
export const UNKNOWN_ID = 'f'.repeat(24)
