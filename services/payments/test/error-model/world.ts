import { randomBytes, randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { z } from 'zod'
import { buildApp } from '../../src/app.ts'
import type { PaymentsDeps } from '../../src/deps.ts'
import { browse, createOrder } from '../customer.ts'
import { customerPayment } from '../customer-payment.ts'
import {
  basic,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestOptions,
  type TestPayments,
} from '../payments-app.ts'

/** The service's answer for a new object. */
const Made = z.object({ id: z.string() })

/** An unknown id. */
export const NO_ID = '0'.repeat(24)

/** A service, and the objects that requests to all endpoints use. */
export interface World {
  readonly payments: TestPayments
  /** A member of the merchant. */
  readonly owner: TestApp
  /** An app that is not a member. */
  readonly stranger: TestApp
  /** The headers of a user's request. */
  readonly user: { readonly authorization: string }
  readonly merchant: { readonly id: string; readonly key?: unknown }
  readonly ids: Readonly<
    Record<'transaction' | 'line' | 'dispute' | 'fraud' | 'payout' | 'card' | 'webhook' | 'key' | 'app', string>
  >
  /** Returns a complete order of the merchant with new tokens. */
  order(changes?: object): Promise<object>
  /** Sends a request as the owner. @throws Error if the service refuses it */
  make(method: 'GET' | 'POST', url: string, payload?: object): Promise<Record<string, unknown>>
}

/** Starts the service with an app and a test merchant in EUR, for requests that raise errors. */
export async function openWorld(options: TestOptions = {}): Promise<World> {
  const payments = await startPayments({ verifyUser: async () => 'user@example.com', ...options })
  const owner = await createTestApp(payments)
  const merchant = await createTestMerchant(payments, owner, {
    currency: 'EUR',
    test: true,
    bank: { iban: 'DK5000400440116243' },
  })
  const make: World['make'] = async (method, url, payload) => {
    const request = { method, url, headers: owner.headers, ...(payload === undefined ? {} : { payload }) }
    const response = await payments.app.inject(request)
    if (response.statusCode >= 300) throw new Error(`${method} ${url}: ${response.statusCode} ${response.body}`)
    return response.json()
  }
  const idOf = async (name: string, url: string, payload?: object) => {
    const { [name]: object } = await make('POST', url, payload)
    return Made.parse(object).id
  }
  const below = `/merchants/${merchant.id}`
  const transaction = await customerPayment(payments, merchant.id, { amount: 100_000 })
  await make('POST', `/transactions/${transaction}/captures`, { amount: 10_000 })
  const lines = await payments.app.inject({ url: `${below}/lines?limit=1`, headers: owner.headers })
  const [line] = lines.json()
  const ids = {
    transaction,
    line: line?.id ?? '',
    payout: await idOf('payout', `/test${below}/payouts`),
    dispute: await idOf('dispute', `/test/transactions/${transaction}/disputes`, { amount: 10 }),
    fraud: await idOf('fraud', `/test/transactions/${transaction}/frauds`, {}),
    card: await idOf('card', `${below}/cards`, { transactionId: transaction }),
    webhook: await idOf('webhook', `${below}/webhooks`, { url: 'https://example.com/events' }),
    key: await idOf('key', '/me/keys'),
    app: owner.id,
  }
  return {
    payments,
    owner,
    stranger: await createTestApp(payments),
    user: { authorization: 'Bearer token' },
    merchant,
    ids,
    order: (changes = {}) => createOrder(browse(payments), { key: merchant.key, ...changes }),
    make,
  }
}

/** Creates a changed batch, and returns the path of its files. */
export async function changedBatch({ payments }: World): Promise<string> {
  const id = randomBytes(12).toString('hex')
  await sql`
    INSERT INTO payments.payout_batches (id, created, debtor, form, payouts, digest)
    VALUES (${id}, now(), '{}', '{}', '[{"id":"none"}]', '')`.execute(payments.database.db)
  return `/operator/payouts/batches/${id}/files`
}

/** Builds a second app with some dependencies replaced. */
export async function buildBroken({ payments }: World, changes: Partial<PaymentsDeps>) {
  const app = await buildApp({ ...payments.deps, ...changes })
  await app.ready()
  return app
}

/** Builds a second app that refuses card data without TLS. */
export function buildRequiringTls(world: World) {
  const { config } = world.payments.deps
  return buildBroken(world, { config: { ...config, checkout: { ...config.checkout, requireTls: true } } })
}

/** Returns dependencies that fail on every call. */
export function failingDeps({ payments }: World, error: Error): Partial<PaymentsDeps> {
  const fail = () => Promise.reject(error)
  const pool = { one: fail, first: fail, all: fail }
  const raise = () => {
    throw error
  }
  const cipher = { encrypt: raise, decrypt: raise }
  return {
    pools: { read: pool, write: pool, lagging: pool },
    operatorPools: { read: pool, write: pool, lagging: pool },
    operations: { run: fail, runForOperator: fail },
    // Operator changes first open a database transaction.
    operatorDb: Object.assign(Object.create(null), {
      transaction: () => ({ execute: fail }),
      getExecutor: () => ({ ...payments.deps.operatorDb.getExecutor(), transformQuery: raise }),
    }),
    ciphers: { tokens: { ...cipher, decrypt: payments.deps.ciphers.tokens.decrypt }, hints: cipher, frames: cipher },
  }
}

/** Returns a plugin before all handlers that fails on every request. */
export function faultyDeps(error: Error): Pick<PaymentsDeps, 'tracing'> {
  return {
    tracing: {
      instrument: async (app) => {
        app.addHook('preHandler', (_request, _reply, done) => done(error))
      },
    },
  }
}

export const unknownKey = () => basic(randomUUID())
