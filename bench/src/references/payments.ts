// The least that a competent server of merchants does: one statement a request, over the tables of the payments service, which
// finds the caller by the MAC of its key. No log, no hooks, no limits.
import { createHmac, createSecretKey } from 'node:crypto'
import fastify, { type FastifyRequest } from 'fastify'
import { z } from 'zod'
import { openLanes } from './lanes.ts'
import { listen, setting } from './listen.ts'
import { CAPTURES, ME, MERCHANT, TRANSACTION, TRANSACTIONS } from './payments-statements.ts'
import { type CapturedRow, captureEntry, type TransactionRow, transactionView } from './transaction-view.ts'

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

const BATCHES_MAX = 2
const BATCH_SIZE_MAX = 128
const Params = z.object({ id: z.string().regex(/^[0-9a-f]{24}$/) })

const Capture = z.object({
  amount: z.int().min(1),
  currency: z.string().optional(),
  descriptor: z.string().max(22).optional(),
})
const Page = z.object({ limit: z.coerce.number().int().min(1).max(1000), before: z.string().default('g') })

const { read, write } = await openLanes(setting('DATABASE_URL'))
const pepper = createSecretKey(Buffer.from(setting('PEPPER'), 'base64'))
const app = fastify({ logger: false })

/** The MAC of the key in an Authorization header `Basic base64(:key)`. */
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

app.get('/transactions/:id', async (request, reply) => {
  const { id } = Params.parse(request.params)
  const [row] = await read<TransactionRow>({ name: 'transaction', text: TRANSACTION, values: [keyMacOf(request), id] })
  return row ? { transaction: transactionView(row) } : reply.code(404).send({ message: 'Not found' })
})

app.get('/merchants/:id/transactions', async (request) => {
  const { id } = Params.parse(request.params)
  const { limit, before } = Page.parse(request.query)
  const values = [keyMacOf(request), id, before, limit]
  const rows = await read<TransactionRow>({ name: 'transactions', text: TRANSACTIONS, values })
  return rows.map((row) => transactionView(row))
})

const capture = createGroupCommit(
  (items: readonly { readonly id: string; readonly mac: string; readonly amount: number }[]) =>
    write<CapturedRow>({ name: 'captures', text: CAPTURES, values: [JSON.stringify(items)] }),
)

app.post('/transactions/:id/captures', async (request, reply) => {
  const { id } = Params.parse(request.params)
  const body = Capture.safeParse(request.body)
  if (!body.success) return reply.code(400).send({ message: 'Bad request' })
  const row = await capture({ id, mac: keyMacOf(request).toString('hex'), amount: body.data.amount })
  if (!row) return reply.code(400).send({ message: 'Too much' })
  return reply.code(201).send({ transaction: transactionView(row, [captureEntry(row)]) })
})

await listen(app)

interface Waiting<Item, Result> {
  readonly item: Item
  readonly listener: PromiseWithResolvers<Result | undefined>
}

/** Sends items in batches while two batches are open. A batch has each key at most once. */
function createGroupCommit<Item extends { readonly id: string }, Result extends { readonly id: string }>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
): (item: Item) => Promise<Result | undefined> {
  let waiting: Waiting<Item, Result>[] = []
  let batches = 0
  const sendBatches = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = new Map<string, Waiting<Item, Result>>()
      const left: Waiting<Item, Result>[] = []
      for (const entry of waiting) {
        if (batch.size < BATCH_SIZE_MAX && !batch.has(entry.item.id)) batch.set(entry.item.id, entry)
        else left.push(entry)
      }
      waiting = left
      try {
        const results = new Map((await run([...batch.values()].map(({ item }) => item))).map((each) => [each.id, each]))
        for (const [id, { listener }] of batch) listener.resolve(results.get(id))
      } catch (error) {
        for (const { listener } of batch.values()) listener.reject(error)
      }
    }
    batches -= 1
  }
  return (item) => {
    const listener = Promise.withResolvers<Result | undefined>()
    waiting.push({ item, listener })
    if (batches < BATCHES_MAX) {
      batches += 1
      setImmediate(() => void sendBatches())
    }
    return listener.promise
  }
}
