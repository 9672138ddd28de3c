// The least that a competent server of merchants does: one statement a request, over the tables of the payments service,
// which finds the caller by the MAC of its key. No log, no hooks, no limits.
import { createHmac, createSecretKey } from 'node:crypto'
import fastify, { type FastifyRequest } from 'fastify'
import { z } from 'zod'
import { openLanes } from './lanes.ts'
import { listen, setting } from './listen.ts'

interface App {
  readonly id: string
  readonly name: string | null
  readonly created: string
}

interface Merchant extends App {
  readonly country: string
  readonly company_number: string | null
  readonly iban: string | null
  readonly tds_mode: string
}

const CALLER = 'k.mac = $1 AND k.revoked IS NULL AND (k.expires IS NULL OR k.expires > now())'
const ME = `SELECT a.id, a.name, a.created FROM payments.app_keys k JOIN payments.apps a ON a.id = k.app_id WHERE ${CALLER}`
const MERCHANT = `SELECT m.id, m.key, m.name, m.currency, m.test, m.email, m.website, m.descriptor, m.country,
    m.company_number, m.iban, m.created, b.balance, m.claim, m.pricing, m.tds_mode
  FROM payments.app_keys k
  JOIN payments.merchant_apps s ON s.app_id = k.app_id AND NOT s.pending
  JOIN payments.merchants m ON m.id = s.merchant_id
  JOIN payments.merchant_balances b ON b.merchant_id = m.id
  WHERE ${CALLER} AND m.id = $2`

const Params = z.object({ id: z.string().regex(/^[0-9a-f]{24}$/) })

const { read } = await openLanes(setting('DATABASE_URL'))
const pepper = createSecretKey(Buffer.from(setting('PEPPER'), 'base64'))
const app = fastify({ logger: false })

/** Of the key in an Authorization header `Basic base64(:key)`. */
function keyMacOf({ headers }: FastifyRequest): Buffer {
  const credentials = Buffer.from(headers.authorization?.slice('Basic '.length) ?? '', 'base64').toString()
  return createHmac('sha256', pepper).update(credentials.slice(1)).digest()
}

app.get('/me', async (request, reply) => {
  const [identity] = await read<App>({ name: 'me', text: ME, values: [keyMacOf(request)] })
  if (!identity) return reply.code(401).send({ message: 'Unauthorized' })
  const { id, name, created } = identity
  return { identity: { id, name: name ?? undefined, created } }
})

app.get('/merchants/:id', async (request, reply) => {
  const { id } = Params.parse(request.params)
  const [row] = await read<Merchant>({ name: 'merchant', text: MERCHANT, values: [keyMacOf(request), id] })
  if (!row) return reply.code(404).send({ message: 'Not found' })
  const { country, company_number, iban, tds_mode, name, ...same } = row
  return {
    merchant: {
      ...same,
      name: name ?? undefined,
      company: { country, number: company_number ?? undefined },
      bank: iban === null ? undefined : { iban },
      tds: { mode: tds_mode },
    },
  }
})

await listen(app)
