import { randomUUID } from 'node:crypto'
import { createReadiness, type Readiness } from '@trestle/common/lifecycle/readiness.ts'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Metrics } from '@trestle/common/telemetry/metrics.ts'
import type { Telemetry, Tracing } from '@trestle/common/telemetry/open-telemetry.ts'
import type { ConsoleConfig } from './config.ts'
import type { OperatorKeys } from './service-calls/operator-calls.ts'
import { createServiceClient, type ServiceClient } from './service-calls/service-client.ts'
import {
  type AccessTokens,
  type AuthSessions,
  createAccessTokens,
  createAuthSessions,
} from './sessions/auth-session.ts'
import { createSessionCipher, type SessionCipher } from './sessions/session-cipher.ts'

/** The dependencies. `serve` creates them once. A test creates its own and may replace members. */
export interface ConsoleDeps {
  readonly config: ConsoleConfig
  readonly logger: ServiceLogger['logger']
  readonly meter: Metrics['meter']
  readonly tracing: Pick<Tracing, 'instrument'>
  readonly readiness: Readiness
  readonly sessionCipher: SessionCipher
  readonly accessTokens: AccessTokens
  readonly auth: AuthSessions
  readonly services: ServiceClient
  readonly operatorKeys: OperatorKeys
  readonly now: () => Date
  /** Generates an Idempotency-Key for the forms of a page. */
  readonly generateIdempotencyKey: () => string
}

/** The dependencies of a serving process, and their `close`. */
export interface ProcessDeps extends ConsoleDeps {
  readonly metrics: Metrics
  close(): Promise<void>
}

/** Creates the dependencies. Calls no service before the first request. */
export function createDeps(
  config: ConsoleConfig,
  { logger }: Pick<ServiceLogger, 'logger'>,
  { metrics, tracing }: Telemetry,
  now: () => Date = () => new Date(),
): ProcessDeps {
  const { auth, payments, inventory } = config.services
  const urls = {
    auth: auth.url,
    ...(payments ? { payments: payments.url } : {}),
    ...(inventory ? { inventory: inventory.url } : {}),
  }
  const services = createServiceClient(urls)
  const authSessions = createAuthSessions(services.send, auth.keys)
  return {
    config,
    logger,
    meter: metrics.meter,
    metrics,
    tracing,
    // No checks: if a service is unavailable, the console stays ready, and only the pages of that service fail.
    readiness: createReadiness({}),
    sessionCipher: createSessionCipher(config.secrets),
    accessTokens: createAccessTokens(authSessions, now),
    auth: authSessions,
    services,
    operatorKeys: {
      auth: auth.keys,
      ...(payments ? { payments: payments.keys } : {}),
      ...(inventory ? { inventory: inventory.keys } : {}),
    },
    now,
    generateIdempotencyKey: randomUUID,
    close: async () => {
      await Promise.all([metrics.close(), tracing.close()])
    },
  }
}
