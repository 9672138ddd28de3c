import { createSecretKey } from 'node:crypto'
import { createNoopMeter } from '@opentelemetry/api'
import { allowNull, completeDocument } from '@trestle/common/documents/complete-document.ts'
import { createLogger } from '@trestle/common/telemetry/logger.ts'
import { createSilentDatabase } from '@trestle/database/driver/silent-database.ts'
import { createNames } from '@trestle/database/names.ts'
import { memoryStore } from '@trestle/rate-limits/limiter-store.ts'
import { buildApp } from './app.ts'
import { loadAuthConfig } from './config.ts'
import type { AuthDeps } from './deps.ts'
import { describeHooks } from './openapi-hooks.ts'
import { documentNotes } from './openapi-notes.ts'
import { addWrongMethod, describeRequests } from './openapi-requests.ts'
import { createRateLimits } from './rate-limits/rate-limits.ts'
import { createEncryptionKeys } from './secrets/sealed-secret.ts'
import { deriveServerKeys } from './secrets/server-key.ts'

/**
 * The API document, made from the schemas of the routes. Nothing is opened and nothing is called.
 * @throws ConfigError when the settings below lack a setting that has no default
 */
export async function buildOpenApi(): Promise<object> {
  const app = await buildApp(createDocumentDeps())
  await app.ready()
  const document = await app.describeApi()
  await app.close()
  describeRequests(document)
  // A member that is null counts as absent (reference: Request bodies).
  const complete = completeDocument(allowNull(document), { ...documentNotes, webhooks: describeHooks() })
  addWrongMethod(complete)
  return complete
}

const KEY = Buffer.alloc(32)

function createDocumentDeps(): AuthDeps {
  const settings = {
    AUTH_SITE_URL: 'http://localhost:3000',
    AUTH_API_EXTERNAL_URL: 'http://localhost:8081',
    AUTH_DB_DRIVER: 'postgres',
    AUTH_DB_DATABASE_URL: 'postgres://localhost/auth',
    AUTH_JWT_SECRET: KEY.toString('base64'),
    AUTH_MAILER_AUTOCONFIRM: 'true',
  }
  const config = loadAuthConfig(settings)
  const lane = { one: unused, first: unused, all: unused }
  return {
    config,
    db: createSilentDatabase(),
    lanes: { read: lane, write: lane, lagging: lane },
    names: createNames('auth'),
    logger: createLogger({ level: 'panic', stdout: false }).logger,
    meter: createNoopMeter(),
    tracing: { instrument: async () => {} },
    readiness: { missing: unused, report: unused, markReady: unused, drain: unused },
    now: unused,
    randomBytes: unused,
    passwords: { hash: unused, verify: unused },
    signingKeys: {
      sign: unused,
      verify: unused,
      publicJwks: unused,
      load: unused,
      startPolling: unused,
      stopPolling: unused,
    },
    encryptionKeys: createEncryptionKeys(KEY, []),
    serverKeys: deriveServerKeys(createEncryptionKeys(KEY, [])),
    refreshSession: unused,
    signInByPassword: unused,
    insertSignUp: unused,
    refreshTokenKey: createSecretKey(KEY),
    tokenReuse: { add: unused },
    rateLimits: createRateLimits(config.rateLimits, memoryStore()),
    jobs: {
      open: unused,
      send: unused,
      run: unused,
      prepare: unused,
      insert: unused,
      work: unused,
      schedule: unused,
      retryDead: unused,
      check: unused,
      close: unused,
    },
    outbox: { wake: unused, start: unused, stop: unused },
    mailer: { send: unused, check: unused, close: unused },
    sms: undefined,
    outbound: { mayCall: unused, send: unused, open: unused },
    keySets: { find: unused },
    hooks: { isOn: unused, isInRequest: unused, call: unused, during: unused },
  }
}

function unused(): never {
  throw new Error('the API document is made without requests')
}
