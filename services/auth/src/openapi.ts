import { createSecretKey } from 'node:crypto'
import { createNoopMeter } from '@opentelemetry/api'
import { asPart } from '@trestle/common/documents/client-schemas.ts'
import { allowNull, completeDocument } from '@trestle/common/documents/complete-document.ts'
import { createLogger } from '@trestle/common/telemetry/logger.ts'
import { createSilentDatabase } from '@trestle/database/driver/hosts.ts'
import { createNames } from '@trestle/database/names.ts'
import { memoryStore } from '@trestle/rate-limits/limiter-store.ts'
import { buildApp } from './app.ts'
import { loadAuthConfig } from './config.ts'
import type { AuthDeps } from './deps.ts'
import { describeHooks } from './openapi-hooks.ts'
import { documentNotes } from './openapi-notes.ts'
import { addWrongMethod, describeRequests } from './openapi-requests.ts'
import { createRateLimits } from './rate-limits/rate-limits.ts'
import { createEncryptionKeys, deriveServerKeys } from './secrets/sealed-secret.ts'

/** The API document, from the schemas of the routes. Opens nothing and calls nothing. */
export async function buildOpenApi(): Promise<object> {
  const app = await buildApp(createDocumentDeps())
  await app.ready()
  const document = await app.describeApi()
  await app.close()
  orderSchemas(document)
  describeRequests(document)
  // A member that is null counts as absent (reference: Request bodies).
  const complete = completeDocument(allowNull(document), { ...documentNotes, webhooks: describeHooks() })
  addWrongMethod(complete)
  return complete
}

/** The schemas that several routes share, in the order of the document, independent of the order in which files are loaded. */
const SHARED_SCHEMAS = [
  ...['AuthError', 'Identity', 'Factor', 'User', 'ListedUser', 'AuditEntry', 'Passkey', 'ListedSession', 'Limit'],
  ...['Session', 'SigningKey', 'Operator', 'Message', 'Reason'],
] as const

function orderSchemas(document: object): void {
  const schemas = asPart(asPart(asPart(document).components).schemas)
  const { ...found } = schemas
  for (const name of SHARED_SCHEMAS) {
    Reflect.deleteProperty(schemas, name)
    schemas[name] = found[name]
  }
}

const KEY = Buffer.alloc(32)

const JOBS: AuthDeps['jobs'] = {
  open: refuseUse,
  send: refuseUse,
  reprioritize: refuseUse,
  wake: refuseUse,
  run: refuseUse,
  prepare: refuseUse,
  insert: refuseUse,
  work: refuseUse,
  schedule: refuseUse,
  retryDead: refuseUse,
  check: refuseUse,
  close: refuseUse,
}

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
  const pool = { one: refuseUse, first: refuseUse, all: refuseUse }
  return {
    config,
    db: createSilentDatabase(),
    pools: { read: pool, write: pool, lagging: pool },
    names: createNames('auth'),
    logger: createLogger({ level: 'panic', stdout: false }).logger,
    meter: createNoopMeter(),
    tracing: { instrument: async () => {} },
    readiness: { missing: refuseUse, report: refuseUse, markReady: refuseUse, drain: refuseUse },
    now: refuseUse,
    randomBytes: refuseUse,
    passwords: { hash: refuseUse, verify: refuseUse },
    signingKeys: {
      sign: refuseUse,
      verify: refuseUse,
      publicJwks: refuseUse,
      load: refuseUse,
      startPolling: refuseUse,
      stopPolling: refuseUse,
    },
    encryptionKeys: createEncryptionKeys(KEY, []),
    serverKeys: deriveServerKeys(createEncryptionKeys(KEY, [])),
    refreshSession: refuseUse,
    signInByPassword: refuseUse,
    insertSignUp: refuseUse,
    refreshTokenKey: createSecretKey(KEY),
    tokenReuse: { add: refuseUse },
    rateLimits: createRateLimits(config.rateLimits, memoryStore()),
    jobs: JOBS,
    outbox: { wake: refuseUse, start: refuseUse, stop: refuseUse },
    mailer: { send: refuseUse, check: refuseUse, close: refuseUse },
    sms: undefined,
    outbound: { mayCall: refuseUse, send: refuseUse, open: refuseUse },
    keySets: { find: refuseUse },
    hooks: { isOn: refuseUse, isInRequest: refuseUse, call: refuseUse, during: refuseUse },
  }
}

function refuseUse(): never {
  throw new Error('the API document is made without requests')
}
