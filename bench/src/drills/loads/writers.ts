import type { Secrets } from '@trestle/stack/settings/secrets-file.ts'
import { z } from 'zod'
import { createApp, insertTransactions, merchantBody, post, signAdminToken } from '../../fixtures.ts'
import type { ClientRequest } from './send.ts'

export interface Writer {
  readonly service: 'auth' | 'payments' | 'inventory'
  /** Settings of the service under which no limit refuses a write. */
  readonly env: Readonly<Record<string, string>>
  /** Makes the objects that are written to. */
  prepare(context: {
    readonly url: string
    readonly secrets: Secrets
    readonly execute: (statement: string) => Promise<readonly unknown[]>
  }): Promise<PreparedRequests>
  /** Whether an answer says that the write is stored, by this request or an earlier one. */
  isDone(status: number, body: string): boolean
  /** Selects every reference, and how often it is stored. */
  readonly found: string
}

export interface PreparedRequests {
  readonly write: (reference: string) => ClientRequest
  readonly read: ClientRequest
}

const CreatedProduct = z.object({ data: z.object({ id: z.number() }) })
const Ids = z.array(z.object({ id: z.string() }))
const MERCHANTS = 4
/** A trail takes 200 captures, so these are 400,000: more than any of the runs writes. */
const TRANSACTIONS_EACH = 500
const MAIN_LOCATION = 1

const isCreated = (status: number) => status === 201

/** One kind of write for each service. Each may be repeated, and is stored once. */
export const writers: readonly Writer[] = [
  {
    service: 'auth',
    env: {},
    prepare: async ({ secrets }) => {
      const headers = { authorization: `Bearer ${signAdminToken(secrets.AUTH_JWT_SECRET)}` }
      return {
        write: (reference) => ({
          method: 'POST',
          path: '/admin/users',
          headers,
          body: { email: `${reference}@drill.example`, email_confirm: true },
        }),
        read: { method: 'GET', path: '/admin/users?cursor=&per_page=1', headers },
      }
    },
    // An address is taken if an earlier request, which got no answer, has signed it up.
    isDone: (status, body) => status === 200 || (status === 422 && body.includes('email_exists')),
    found: `SELECT split_part(email, '@', 1) AS reference, count(*) AS times FROM auth.users GROUP BY 1`,
  },
  {
    service: 'payments',
    env: { PAYMENTS_RATE_KEY: '0', PAYMENTS_RATE_APPS: '0', PAYMENTS_RATE_FAILURES: '0' },
    prepare: async ({ url, execute }) => {
      const headers = await createApp(url)
      for (let count = 0; count < MERCHANTS; count += 1) await post(`${url}/merchants`, merchantBody(count), headers)
      await insertTransactions(execute, TRANSACTIONS_EACH)
      const ids = Ids.parse(await execute('SELECT id FROM payments.transactions')).map(({ id }) => id)
      return {
        write: (reference) => ({
          method: 'POST',
          path: `/transactions/${ids[Math.floor(Math.random() * ids.length)]}/captures`,
          headers: { ...headers, 'idempotency-key': reference },
          body: { amount: 1, reference },
        }),
        read: { method: 'GET', path: '/me', headers },
      }
    },
    isDone: isCreated,
    found: 'SELECT reference, count(*) AS times FROM payments.trail_entries WHERE reference IS NOT NULL GROUP BY 1',
  },
  {
    service: 'inventory',
    env: {},
    prepare: async ({ url }) => {
      const { data } = CreatedProduct.parse(await post(`${url}/products`, { sku: 'DRILL', attributes: {} }))
      const line = { type: 'receive', productId: data.id, locationId: MAIN_LOCATION, quantity: 1 }
      return {
        write: (reference) => ({
          method: 'POST',
          path: '/movements',
          headers: { 'idempotency-key': reference },
          body: { lines: [{ ...line, reference }] },
        }),
        read: { method: 'GET', path: `/products/${data.id}` },
      }
    },
    isDone: isCreated,
    found: 'SELECT reference, count(*) AS times FROM inventory.movements WHERE reference IS NOT NULL GROUP BY 1',
  },
]
