import { createSecretKey } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { createNoopMeter } from '@opentelemetry/api'
import { asPart } from '@trestle/common/documents/client-schemas.ts'
import { allowNull, completeDocument } from '@trestle/common/documents/complete-document.ts'
import { createNames } from '@trestle/database/names.ts'
import { pino } from 'pino'
import { buildApp } from './app.ts'
import type { PaymentsDeps } from './deps.ts'
import { COUNTRIES } from './merchants/countries.ts'
import { NO_FEES } from './merchants/pricing.ts'
import { CHARGEABLE } from './money/currencies.ts'
import { addEarlyRefusals, addLinkParameters, documentNotes } from './openapi-notes.ts'
import { describeForms } from './openapi-requests.ts'
import { createDeliveryTimes } from './webhooks/delivery.ts'

/** Builds the API document from the schemas of the routes. Opens no connection and calls no dependency. */
export async function buildOpenApi(): Promise<object> {
  const app = await buildApp(documentDeps)
  await app.ready()
  const document = await app.describeApi()
  await app.close()
  addLinkParameters(document)
  describeForms(document)
  addEarlyRefusals(document)
  // `null` counts as absent (reference: Absent values).
  return completeDocument(nameLists(allowNull(document)), documentNotes())
}

/** Long lists of values, by their names in the document. */
const LISTS: readonly (readonly [string, readonly string[]])[] = [
  ['ChargeableCurrency', CHARGEABLE],
  ['Country', COUNTRIES],
]

/** Changes `document` so that its schemas refer to long lists of values instead of repeating them. */
function nameLists(document: object): object {
  replaceLists(document)
  const components = asPart(Reflect.get(document, 'components'))
  const lists = LISTS.map(([name, values]) => [name, { type: 'string', enum: [...values] }])
  const schemas = { ...asPart(Reflect.get(components, 'schemas')), ...Object.fromEntries(lists) }
  return Object.assign(document, { components: { ...components, schemas } })
}

function replaceLists(part: object): void {
  for (const [name, field] of Object.entries(part)) {
    const list = LISTS.find(([, values]) => isDeepStrictEqual(field, { type: 'string', enum: values }))
    if (list) Reflect.set(part, name, { $ref: `#/components/schemas/${list[0]}` })
    else if (typeof field === 'object' && field !== null) replaceLists(field)
  }
}

const pool = { one: refuseUse, first: refuseUse, all: refuseUse }
const limit = { consume: refuseUse, wait: refuseUse, giveBack: refuseUse }
const textCipher = { encrypt: refuseUse, decrypt: refuseUse }

const documentDeps: PaymentsDeps = {
  config: {
    server: { baseUrl: '', docsEnabled: true, trustedProxies: 0 },
    // Set both hosts, so that the document includes their URLs.
    checkout: { requireTls: false, vaultHost: 'vault.example', posUrl: '', posHost: 'pos.example' },
    registration: 'open',
    unusedAppDays: 0,
    dayLimits: { authorizationExpiryDays: 0, confirmationDays: 0, rateAgeDaysMax: 0 },
    payouts: {
      schedule: 'off',
      minimumMajorUnits: 0,
      delayDays: { live: 0, test: 0 },
      version: 'pain.001.001.09',
      timeZone: 'UTC',
      address: undefined,
    },
    pricing: NO_FEES,
    seedAllowed: false,
    refundLimits: { once: new Map(), daily: new Map() },
  },
  pools: { read: pool, write: pool, lagging: pool },
  rateLimits: {
    requests: limit,
    apps: limit,
    failures: limit,
    checkouts: limit,
    refusals: limit,
    mails: limit,
    invitations: limit,
    invitationAddresses: limit,
  },
  limitRefusals: refuseUse,
  ciphers: { tokens: textCipher, hints: textCipher, frames: textCipher },
  acquirers: { names: [], find: refuseUse, authorize: refuseUse },
  vault: { keyId: 0, encrypt: refuseUse, decrypt: refuseUse, macs: refuseUse },
  operations: { run: refuseUse, runForOperator: refuseUse },
  wait: refuseUse,
  pepper: createSecretKey(Buffer.alloc(1)),
  generateApiKey: () => '',
  randomBytes: refuseUse,
  now: refuseUse,
  usedKeys: new Map(),
  jobs: {
    open: refuseUse,
    send: refuseUse,
    reprioritize: refuseUse,
    wake: refuseUse,
    prepare: refuseUse,
    insert: refuseUse,
    run: refuseUse,
    work: refuseUse,
    schedule: refuseUse,
    retryDeadLetterJobs: refuseUse,
    check: refuseUse,
    close: refuseUse,
  },
  names: createNames('payments'),
  mailer: undefined,
  outbox: { wake: refuseUse, start: refuseUse, stop: refuseUse },
  webhooks: {
    outbound: { mayCall: refuseUse, send: refuseUse, open: refuseUse },
    secrets: { encrypt: refuseUse, decrypt: refuseUse, isCurrent: refuseUse },
    allowHttp: false,
    times: createDeliveryTimes(),
  },
  userTokens: undefined,
  operators: undefined,
  // The database type has too many fields for a stub. Nothing uses the database while the document is built.
  operatorDb: Object.create(null),
  operatorPools: { read: pool, write: pool, lagging: pool },
  logger: pino({ enabled: false }),
  meter: createNoopMeter(),
  tracing: { instrument: async () => {} },
  readiness: { missing: refuseUse, report: refuseUse, markReady: refuseUse, drain: refuseUse },
}

function refuseUse(): never {
  throw new Error('the API document is made without requests')
}
