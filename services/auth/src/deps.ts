import { type KeyObject, randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { performance } from 'node:perf_hooks'
import type { Counter, Meter } from '@opentelemetry/api'
import { createReadiness, type Readiness } from '@trestle/common/lifecycle/readiness.ts'
import { createOutbound, type Outbound } from '@trestle/common/outbound/outbound.ts'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Metrics } from '@trestle/common/telemetry/metrics.ts'
import type { Telemetry, Tracing } from '@trestle/common/telemetry/open-telemetry.ts'
import type { Database } from '@trestle/database/connect.ts'
import { loadQuerySpans, type Pools } from '@trestle/database/pools.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { createOutbox, type Outbox } from '@trestle/jobs/outbox.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type OpenLimiterStore, openLimiterStore } from '@trestle/rate-limits/limiter-store.ts'
import { createKeyRing, type KeyRing } from './access-tokens/key-ring.ts'
import type { AuthConfig } from './config.ts'
import type { AuthTables, Db } from './database.ts'
import { createKeySets, type KeySets } from './external-providers/key-sets.ts'
import { createHooks, type Hooks } from './hooks/hooks.ts'
import { createMailer, createTemplateLoader, type Mailer } from './messages/mailer.ts'
import { createSmsGateway, type SmsGateway } from './messages/sms-gateway.ts'
import { tasks } from './migrations.ts'
import { expectMigrations, openAuthDatabase, openAuthJobs } from './open-database.ts'
import { countHashing, observeDatabase } from './open-telemetry.ts'
import {
  createPasswordHasher,
  type PasswordHasher,
  type RunHashTasks,
  runHashTasks,
} from './passwords/password-hasher.ts'
import { createRateLimits, type RateLimits } from './rate-limits/rate-limits.ts'
import {
  createEncryptionKeys,
  deriveEncryptionKey,
  deriveServerKeys,
  type EncryptionKeys,
  type RandomBytes,
  readUpstreamSecret,
  type ServerKeys,
} from './secrets/encrypted-secret.ts'
import { batchPasswordSignIns, type SignInByPassword } from './sessions/create-session.ts'
import {
  batchRefreshes,
  createTokenReuseCounter,
  type RefreshSession,
  toRefreshRules,
} from './sessions/refresh-session.ts'
import { deriveRefreshTokenKey } from './sessions/session.ts'
import { batchSignUps, type InsertSignUp } from './sign-ups/sign-up-repository.ts'

/** The dependencies of the service. `serve` creates them once. A test creates its own and may replace members. */
export interface AuthDeps {
  readonly config: AuthConfig
  readonly db: Db
  readonly pools: Pools
  readonly names: Names
  readonly logger: ServiceLogger['logger']
  readonly meter: Metrics['meter']
  readonly tracing: Pick<Tracing, 'instrument'>
  readonly readiness: Readiness
  readonly now: () => Date
  /** The source of every secret. Ids of rows use `randomUUID`, because they are not secret. */
  readonly randomBytes: RandomBytes
  readonly passwords: PasswordHasher
  readonly signingKeys: KeyRing
  readonly encryptionKeys: EncryptionKeys
  readonly serverKeys: ServerKeys
  readonly refreshSession: RefreshSession
  readonly signInByPassword: SignInByPassword
  readonly insertSignUp: InsertSignUp
  /** The key that derives the next refresh token from a refresh token (reference: Refresh tokens). */
  readonly refreshTokenKey: KeyObject
  /** Counts reused refresh tokens. */
  readonly tokenReuse: Counter
  readonly rateLimits: RateLimits
  readonly jobs: Jobs
  /** Moves jobs that SQL functions have inserted to the queue. */
  readonly outbox: Outbox
  readonly mailer: Mailer
  /** `undefined` if no gateway is set. */
  readonly sms: SmsGateway | undefined
  readonly outbound: Outbound
  /** Public keys of external providers. */
  readonly keySets: KeySets
  readonly hooks: Hooks
}

/** The dependencies of a serving process, and the functions that check and close them. */
export interface ProcessDeps extends AuthDeps {
  readonly database: Database<AuthTables>
  readonly limiters: Pick<OpenLimiterStore, 'check'>
  readonly metrics: Metrics
  /** Closes everything except the jobs. The database is closed last. */
  close(): Promise<void>
}

/** The dependencies of an operator's command. They equal those of the routes of admins, whose use cases it runs. */
export interface OperatorDeps extends AuthDeps {
  close(): Promise<void>
}

/** Creates the real dependencies. `serve` then opens the jobs and loads the signing keys. */
export async function createDeps(
  config: AuthConfig,
  { logger }: Pick<ServiceLogger, 'logger'>,
  { metrics, tracing }: Telemetry,
  runTasks: RunHashTasks = runHashTasks,
): Promise<ProcessDeps> {
  const { meter } = metrics
  const now = () => new Date()
  const onError = (error: Error) => logger.warn({ err: error }, 'connection lost')
  const database = openAuthDatabase(config, onError, {
    spans: await loadQuerySpans(config.server),
  })
  observeDatabase(meter, database, tasks)
  const encryptionKeys = toEncryptionKeys(config)
  const serverKeys = deriveServerKeys(encryptionKeys)
  const limiters = await openLimiterStore(config.rateLimits, database, onError)
  const outbound = createOutbound(config.security.outboundAllowedHosts)
  const templates = createTemplateLoader(config.mail, outbound, logger)
  const mailer = createMailer({ config: config.mail, templates, logger, meter })
  const onJobError = (error: Error) => logger.warn({ err: error }, 'the job queue has trouble')
  const jobs = openAuthJobs(config, { meter, onError: onJobError, now, payloadKeys: serverKeys.jobs })
  return {
    config,
    database,
    db: database.db,
    pools: database.pools,
    names: database.names,
    logger,
    meter,
    metrics,
    tracing,
    limiters,
    readiness: createReadiness(readinessChecks(database, jobs)),
    now,
    randomBytes,
    passwords: createHasher({ runTasks, meter, encryptionKeys }, config),
    signingKeys: openKeyRing(config, { db: database.db, logger, encryptionKeys }),
    encryptionKeys,
    serverKeys,
    ...batchWrites(database.pools, config),
    refreshTokenKey: deriveRefreshTokenKey(config.jwt.secret),
    tokenReuse: createTokenReuseCounter(meter),
    rateLimits: createRateLimits(config.rateLimits, limiters.store),
    jobs,
    outbox: createOutbox({ db: database.db, jobs, onError: onJobError }),
    mailer,
    sms: config.sms.gateway && (await createSmsGateway(config.sms.gateway, outbound)),
    outbound,
    keySets: createKeySets(outbound, now),
    hooks: createHooks(config.hooks, { outbound, logger, compatibility: config.compatibility, now }),
    close: async () => {
      mailer.close()
      limiters.close()
      await Promise.all([metrics.close(), tracing.close()])
      await database.close()
    },
  }
}

function openKeyRing(
  { jwt, compatibility }: AuthConfig,
  rest: Pick<AuthDeps, 'db' | 'logger' | 'encryptionKeys'>,
): KeyRing {
  return createKeyRing({ ...rest, jwt, tokenRules: compatibility, randomBytes })
}

/** Writes sign-ins to the database in batches. */
function batchWrites(
  pools: Pools,
  config: AuthConfig,
): Pick<AuthDeps, 'signInByPassword' | 'insertSignUp' | 'refreshSession'> {
  return {
    signInByPassword: batchPasswordSignIns(pools, { audit: config.database.auditInPostgres }),
    insertSignUp: batchSignUps(pools),
    refreshSession: batchRefreshes(pools, toRefreshRules(config)),
  }
}

interface HasherParts {
  readonly runTasks: RunHashTasks
  readonly meter: Meter
  readonly encryptionKeys: EncryptionKeys
}

function createHasher(
  { runTasks, meter, encryptionKeys }: HasherParts,
  { passwords, compatibility }: AuthConfig,
): PasswordHasher {
  return createPasswordHasher({
    runTasks,
    scheme: { algorithm: passwords.algorithm, replacesOthers: !compatibility.keepOutdatedHashes },
    concurrency: availableParallelism(),
    clock: () => performance.now(),
    readHash: (userId, hash) => readUpstreamSecret(encryptionKeys, userId, hash),
    onWork: countHashing(meter),
  })
}

function readinessChecks(database: Database<AuthTables>, jobs: Jobs): Parameters<typeof createReadiness>[0] {
  return {
    database: () => database.ping(),
    migrations: () => expectMigrations(database),
    worker: () => jobs.check(),
  }
}

/** The keys of secrets in the database. The key derived from JWT_SECRET encrypts if none is set, so keep it. */
export function toEncryptionKeys({ security, jwt }: AuthConfig): EncryptionKeys {
  const derived = deriveEncryptionKey(jwt.secret)
  return createEncryptionKeys(security.encryptionKey ?? derived, [...security.decryptionKeys, derived])
}
