import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { app, merchant, transaction } from '../../fixtures.ts'
import { runProgram } from '../../servers/run-program.ts'

export const steps: Readonly<
  Record<
    string,
    (trial: { readonly Paylike: Paylike; readonly paylike: PaylikeClient; readonly url: string }) => Promise<void>
  >
> = {
  'apps.create, apps.findOne, setKey': async ({ Paylike, url }) => {
    const stranger = Paylike(undefined, { url })
    const made = await stranger.apps.create({ name: 'Coffee & John' })
    await catchError(() => stranger.apps.findOne(), { Paylike, name: 'AuthorizationError' })
    stranger.setKey(made.key)
    assert.equal((await stranger.apps.findOne()).id, made.id)
  },
  'apps.merchants.find': async ({ paylike }) => {
    const all = await paylike.apps.merchants.find(app.id).limit(10).toArray()
    const tests = await paylike.apps.merchants
      .find(app.id)
      .filter({ test: true })
      .sort({ created: 1 })
      .limit(2)
      .toArray()
    assert.deepEqual(tests, all.slice(0, 2))
  },
  'merchants.create, merchants.findOne, merchants.update': async ({ Paylike, paylike }) => {
    const refused = await catchError(() => paylike.merchants.create(), { Paylike, name: 'ValidationError' })
    assert.ok(Array.isArray(refused.data) && refused.data.length === 5)
    const id = await paylike.merchants.create(attributes)
    assert.equal(await paylike.merchants.update(id, { name: 'Coffee John' }), undefined)
    const found = await paylike.merchants.findOne(id)
    assert.deepEqual([found.id, found.name, found.test], [id, 'Coffee John', true])
    await catchError(() => paylike.merchants.findOne('f'.repeat(24)), { Paylike, name: 'NotFoundError' })
  },
  'merchants.users.add, find, revoke': async ({ paylike }) => {
    const id = await paylike.merchants.create(attributes)
    assert.equal(await paylike.merchants.users.add(id, { email: 'one@example.com' }), undefined)
    const users = await paylike.merchants.users.find(id).toArray()
    assert.deepEqual(
      users.map(({ email }) => email),
      ['one@example.com'],
    )
    assert.equal(await paylike.merchants.users.revoke(id, users[0]?.id ?? ''), undefined)
    assert.deepEqual(await paylike.merchants.users.find(id).toArray(), [])
  },
  'merchants.apps.add, find, revoke': async ({ Paylike, paylike }) => {
    const id = await paylike.merchants.create(attributes)
    const other = await paylike.apps.create({ name: 'Accounting' })
    assert.equal(await paylike.merchants.apps.add(id, { appId: other.id }), undefined)
    assert.deepEqual(idsOf(await paylike.merchants.apps.find(id).toArray()), [other.id, app.id])
    assert.equal(await paylike.merchants.apps.revoke(id, app.id), undefined)
    await catchError(() => paylike.merchants.findOne(id), { Paylike, name: 'PermissionsError' })
  },
  'merchants.lines.find': async ({ paylike }) => {
    const lines = await paylike.merchants.lines.find(merchant.id).limit(3).toArray()
    assert.equal(lines.length, 3)
    assert.deepEqual(
      lines.map(({ transactionId }) => transactionId),
      Array.from({ length: 3 }, () => transaction.id),
    )
  },
  'merchants.transactions.create, transactions.findOne': async ({ Paylike, paylike }) => {
    const id = await charge(paylike, 200)
    const found = await paylike.transactions.findOne(id)
    assert.deepEqual([found.id, found.pendingAmount, found.trail], [id, 200, []])
    assert.deepEqual(found.custom, { source: 'node client' })
    const unknown = { transactionId: 'f'.repeat(24), currency: 'EUR', amount: 1 }
    await catchError(() => paylike.merchants.transactions.create(merchant.id, unknown), {
      Paylike,
      name: 'ValidationError',
    })
  },
  'transactions.capture': async ({ Paylike, paylike }) => {
    const id = await charge(paylike, 300)
    assert.equal(
      await paylike.transactions.capture(id, { currency: 'EUR', amount: 100, descriptor: 'Coffee' }),
      undefined,
    )
    const found = await paylike.transactions.findOne(id)
    assert.deepEqual([found.capturedAmount, found.pendingAmount], [100, 200])
    const refused = await catchError(() => paylike.transactions.capture(id, { amount: 201 }), {
      Paylike,
      name: 'ValidationError',
    })
    assert.deepEqual(refused.data, [
      { field: 'amount', message: 'Can capture at most EUR 2.00', code: 'LIMIT_EXCEEDED' },
    ])
    await new Promise<void>((resolve, reject) => {
      paylike.transactions.capture(id, { amount: 200 }, (error) => (error ? reject(error) : resolve()))
    })
  },
  'transactions.refund': async ({ paylike }) => {
    const id = await charge(paylike, 300)
    await paylike.transactions.capture(id, { currency: 'EUR', amount: 200 })
    assert.equal(await paylike.transactions.refund(id, { amount: 120 }), undefined)
    const found = await paylike.transactions.findOne(id)
    assert.deepEqual([found.capturedAmount, found.pendingAmount, found.refundedAmount], [200, 100, 120])
  },
  'transactions.void': async ({ paylike }) => {
    const id = await charge(paylike, 300)
    assert.equal(await paylike.transactions.void(id, { amount: 260 }), undefined)
    const found = await paylike.transactions.findOne(id)
    assert.deepEqual([found.voidedAmount, found.pendingAmount], [260, 40])
  },
  'cards.create, cards.findOne': async ({ paylike }) => {
    const id = await paylike.cards.create(merchant.id, { transactionId: transaction.id })
    const { created, ...found } = await paylike.cards.findOne(id)
    assert.ok(typeof created === 'string')
    assert.deepEqual(found, {
      id,
      merchantId: merchant.id,
      bin: '410000',
      last4: '0000',
      scheme: 'visa',
      expiry: '2066-08-31T23:59:59.999Z',
      notes: null,
      deleted: null,
    })
    const charged = { cardId: id, currency: 'EUR', amount: 5 }
    assert.match(await paylike.merchants.transactions.create(merchant.id, charged), /^[0-9a-f]{24}$/)
  },
  'merchants.transactions.find: batchSize, before, after, since, until': async ({ paylike }) => {
    const find = () => paylike.merchants.transactions.find(merchant.id)
    const all = await find().batchSize(2).toArray()
    assert.ok(all.length > 5)
    assert.deepEqual(idsOf(all), idsOf(all).sort().reverse())
    assert.equal(all.at(-1)?.id, transaction.id)
    const [first, second, third] = all
    assert.deepEqual(
      await find()
        .before(first?.id ?? '')
        .limit(2)
        .toArray(),
      [second, third],
    )
    assert.deepEqual(await find().after(transaction.id).batchSize(3).toArray(), all.slice(0, -1).reverse())
    assert.deepEqual(await find().since(new Date('2016-01-01')).toArray(), all.slice(0, -1).reverse())
    assert.deepEqual(await find().until(new Date('2016-01-01')).toArray(), all.slice(-1))
  },
  'cursor.pull, cursor.keepAlive: later items are seen': async ({ paylike }) => {
    const last = await charge(paylike, 11)
    const seen = nextOf(paylike.merchants.transactions.find(merchant.id).after(last).keepAlive(50))
    const later = await charge(paylike, 12)
    assert.equal((await seen).id, later)
  },
}

const attributes = {
  company: { country: 'DK' },
  currency: 'DKK',
  email: 'john@example.com',
  website: 'https://example.com',
  descriptor: 'Coffee & John',
  test: true,
}

async function charge(paylike: PaylikeClient, amount: number): Promise<string> {
  const values = { transactionId: transaction.id, currency: 'EUR', amount, custom: { source: 'node client' } }
  return paylike.merchants.transactions.create(merchant.id, values)
}

function idsOf(items: readonly Listed[]): string[] {
  return items.map(({ id }) => id)
}

/** Reads the first item of a stream, then ends the stream. */
function nextOf(cursor: Cursor): Promise<Listed> {
  return new Promise((resolve, reject) => {
    cursor.pull((source) => {
      source(null, (end, item) => {
        if (end) return reject(end)
        resolve(item)
        source(true, () => {})
      })
    })
  })
}

/** Returns the error of a call, which must have the documented class. */
async function catchError(
  call: () => PromiseLike<unknown>,
  { Paylike, name }: { readonly Paylike: Paylike; readonly name: ErrorName },
): Promise<{ readonly message: string; readonly data?: unknown }> {
  const error = await call().then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof Paylike[name], `${name} was expected, not ${error}`)
  return error
}

/** The methods of the client's promises (Bluebird) that the steps use. */
type Answer<Value> = PromiseLike<Value>

interface Cursor {
  limit(count: number): Cursor
  batchSize(count: number): Cursor
  before(id: string): Cursor
  after(id: string): Cursor
  since(date: Date): Cursor
  until(date: Date): Cursor
  filter(filter: object): Cursor
  sort(sort: object): Cursor
  keepAlive(delayMs?: number | false): Cursor
  toArray(): Answer<readonly Listed[]>
  /** A pull-stream: it calls its sink with a source. */
  pull(sink: (source: (abort: true | null, next: (end: unknown, item: Listed) => void) => void) => unknown): unknown
}

interface Listed {
  readonly id: string
  readonly [member: string]: unknown
}

/** All methods of the published Node.js client. */
interface PaylikeClient {
  setKey(key: string): void
  readonly apps: {
    create(values: object): Answer<{ id: string; key: string }>
    findOne(): Answer<Listed>
    readonly merchants: { find(appId: string): Cursor }
  }
  readonly merchants: {
    create(values?: object): Answer<string>
    update(id: string, values: object): Answer<undefined>
    findOne(id: string): Answer<Listed>
    readonly users: Members<{ email: string }>
    readonly apps: Members<{ appId: string }>
    readonly lines: { find(merchantId: string): Cursor }
    readonly transactions: {
      create(merchantId: string, values: object): Answer<string>
      find(merchantId: string): Cursor
    }
  }
  readonly transactions: {
    capture(id: string, values: object, done?: (error: unknown) => void): Answer<undefined>
    refund(id: string, values: object): Answer<undefined>
    void(id: string, values: object): Answer<undefined>
    findOne(id: string): Answer<Listed>
  }
  readonly cards: { create(merchantId: string, values: object): Answer<string>; findOne(id: string): Answer<Listed> }
}

interface Members<Value> {
  add(merchantId: string, value: Value): Answer<undefined>
  revoke(merchantId: string, id: string): Answer<undefined>
  find(merchantId: string): Cursor
}

type ErrorName =
  | 'Error'
  | 'AuthorizationError'
  | 'PermissionsError'
  | 'NotFoundError'
  | 'ConflictError'
  | 'ValidationError'

/** The export of the package. It creates a client for a key, and has the error classes. */
type Paylike = ((key: string | undefined, options: { url: string }) => PaylikeClient) &
  Readonly<Record<ErrorName, new () => { readonly message: string; readonly data?: unknown }>>

const VERSION = '2.0.2'

/** Installs the client from the registry into a folder outside the project, and loads it. */
export async function installPaylike(folder: string): Promise<Paylike> {
  await runProgram({ program: 'npm', args: ['init', '--yes'], cwd: folder })
  await runProgram({ program: 'npm', args: ['install', '--no-audit', '--no-fund', `paylike@${VERSION}`], cwd: folder })
  const paylike: Paylike = createRequire(join(folder, 'package.json'))('paylike')
  return paylike
}
