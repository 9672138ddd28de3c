import fc from 'fast-check'
import type { MovementLine } from '../src/movements/movement.ts'
import type { TestReplica } from './inventory-app.ts'
import { stockRequests } from './stock-requests.ts'

/** Parallel clients with different operations on the same products and locations. */
export interface StormOptions {
  /** The same seed gives every worker the same operations. Their order in time is random. */
  readonly seed: number
  readonly operations: number
  readonly workers: number
  readonly products: readonly number[]
  readonly locations: readonly number[]
  readonly passTime: (reservationId: number) => Promise<void>
  /** How many times `look` runs during the storm. */
  readonly moments: number
  readonly look: () => Promise<void>
}

export interface StormResult {
  /** How often each answer came: `move 201`. */
  readonly answers: Map<string, number>
  /** The movements that were answered, by id. */
  readonly movements: Set<number>
  readonly reservations: number[]
}

const place = { productId: fc.nat(), locationId: fc.nat() }
const quantity = fc.integer({ min: 1, max: 6 })

/** A number stands for a product or location: it is taken modulo their count. */
const line: fc.Arbitrary<MovementLine> = fc.oneof(
  fc.record({ type: fc.constantFrom('receive', 'receive', 'ship'), ...place, quantity }),
  fc.record({
    ...place,
    type: fc.constant('adjust'),
    delta: fc.constantFrom(-4, -1, 1, 3),
    reason: fc.constant('storm'),
  }),
  fc.record({ type: fc.constant('count'), ...place, quantity: fc.integer({ min: 0, max: 30 }) }),
  fc
    .record({ productId: fc.nat(), fromLocationId: fc.nat(), quantity })
    .map((transfer) => ({ ...transfer, type: 'transfer' as const, toLocationId: transfer.fromLocationId + 1 })),
)
const lines = fc.array(line, { minLength: 1, maxLength: 4 })
const operation = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('move'), lines }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('reserve'), ...place, quantity }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('commit'), which: fc.nat(), quantity: fc.constantFrom(1, 2, undefined) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('release', 'expire'), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('repeat') }) },
)
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never

/** Runs the storm against the replicas. @throws Error for an answer that no client may get */
export async function runStorm(replicas: readonly TestReplica[], options: StormOptions): Promise<StormResult> {
  const { seed, operations, workers, moments } = options
  const result: StormResult = { answers: new Map(), movements: new Set(), reservations: [] }
  const length = Math.ceil(operations / workers)
  const lists = fc.sample(fc.array(operation, { minLength: length, maxLength: length }), { seed, numRuns: workers })
  const looks: Promise<void>[] = []
  let [done, due] = [0, 1]
  const work = async (list: readonly Operation[], worker: number): Promise<void> => {
    const replica = replicas[worker % replicas.length]
    if (!replica) throw new Error('there is no replica')
    const take = createClient(replica, worker, options, result)
    for (const each of list) {
      await take(each)
      done += 1
      if (done < (due * operations) / (moments + 1)) continue
      due += 1
      looks.push(options.look())
    }
  }
  await Promise.all(lists.map(work))
  await Promise.all(looks)
  return result
}

function createClient(replica: TestReplica, worker: number, options: StormOptions, result: StormResult) {
  const { send } = stockRequests(replica)
  const { products, locations, passTime } = options
  const { answers, movements, reservations } = result
  const product = (number: number) => products[number % products.length] ?? 0
  const location = (number: number) => locations[number % locations.length] ?? 0
  const toLine = (each: MovementLine): object => ({
    ...each,
    productId: product(each.productId),
    ...('locationId' in each ? { locationId: location(each.locationId) } : {}),
    ...('toLocationId' in each
      ? { fromLocationId: location(each.fromLocationId), toLocationId: location(each.toLocationId) }
      : {}),
  })
  let number = 0
  let last: { readonly url: string; readonly body: object; readonly key: object; readonly answer: string } | undefined
  const post = async (
    kind: string,
    url: string,
    body: object,
    key = { 'idempotency-key': `${worker}-${number++}` },
  ) => {
    const response = await send('POST', url, body, key)
    const { statusCode: status, body: answer } = response
    if (![200, 201, 409].includes(status)) throw new Error(`${kind} answers ${status}: ${answer}`)
    answers.set(`${kind} ${status}`, (answers.get(`${kind} ${status}`) ?? 0) + 1)
    if (status === 409) return undefined
    last = { url, body, key, answer }
    return response.json().data
  }
  return async (each: Operation): Promise<void> => {
    const id = 'which' in each ? reservations[each.which % (reservations.length || 1)] : undefined
    if (each.kind === 'move') {
      const moved = await post('move', '/movements', { lines: each.lines.map(toLine) })
      for (const movement of moved?.ids ?? []) movements.add(movement)
    } else if (each.kind === 'reserve') {
      const { kind, productId, locationId, ...rest } = each
      const wanted = { productId: product(productId), locationId: location(locationId), expiresInSeconds: 3_600 }
      const reserved = await post(kind, '/reservations', { ...rest, ...wanted })
      if (reserved) reservations.push(reserved.id)
    } else if (each.kind === 'repeat' && last) {
      const { statusCode, headers, body } = await send('POST', last.url, last.body, { ...last.key })
      if (body !== last.answer || headers['idempotent-replayed'] !== 'true') {
        throw new Error(`an idempotent request was answered ${statusCode}: ${body}`)
      }
      answers.set('repeat', (answers.get('repeat') ?? 0) + 1)
    } else if (each.kind === 'commit' && id !== undefined) {
      const { quantity: wanted } = each
      await post('commit', `/reservations/commit/${id}`, wanted === undefined ? {} : { quantity: wanted })
    } else if (each.kind === 'release' && id !== undefined) {
      const { statusCode } = await send('DELETE', `/reservations/${id}`)
      if (![204, 409].includes(statusCode)) throw new Error(`release answers ${statusCode}`)
      answers.set(`release ${statusCode}`, (answers.get(`release ${statusCode}`) ?? 0) + 1)
    } else if (each.kind === 'expire' && id !== undefined) {
      await passTime(id)
    }
  }
}
