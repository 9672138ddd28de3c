import { createOutbound } from '@trestle/common/outbound/outbound.ts'
import { type StubAnswer, type StubProvider, startStubProvider } from '@trestle/testing/stub-provider.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { completeScenario } from '../cards/scenario.ts'
import { type AcquirerTask, type AuthorizationRequest, NO_MERCHANT } from './acquirer.ts'
import { createHttpAcquirer } from './http-acquirer.ts'

const attempt = '0123456789abcdef01234567'
const merchantId = '89abcdef0123456789abcdef'
const money = { currency: 'EUR', amount: 500 }

let stub: StubProvider
let answer: StubAnswer
let acquirer: ReturnType<typeof createHttpAcquirer>
beforeAll(async () => {
  stub = await startStubProvider(() => answer)
  acquirer = createHttpAcquirer({ url: `${stub.url}/cards/`, secret: 's3cret', outbound: createOutbound([]) })
})
beforeEach(() => {
  answer = {}
})
afterAll(() => stub.close())

const request: AuthorizationRequest = {
  idempotencyRef: attempt,
  merchantId,
  money,
  descriptor: 'Coffee & John',
  initiator: 'merchant',
  planned: true,
  networkRef: 'n-1',
  scenario: completeScenario({}),
  card: { number: () => '4242424242424242', code: null, expiry: '2066-08-31', scheme: 'visa' },
}
const task: AcquirerTask = {
  kind: 'refund',
  operationId: 'a'.repeat(24),
  merchantId,
  transactionId: 'b'.repeat(24),
  acquirerRef: 'r-1',
  money,
  descriptor: 'x',
}
function lastRequest() {
  const { method, url, body } = stub.requests.at(-1) ?? {}
  return { method, url, body }
}
const declined = (statusCode: string) => ({ verdict: 'declined', statusCode })

describe('createHttpAcquirer', () => {
  it('authorizes with the card number and the secret of the acquirer', async () => {
    answer = { body: { verdict: 'approved', ref: 'r-1' } }
    expect(await acquirer.authorize(request)).toEqual({ verdict: 'approved', ref: 'r-1', networkRef: null })
    const seen = stub.requests.at(-1)
    expect([seen?.method, seen?.url, seen?.headers.authorization]).toEqual([
      'POST',
      '/cards/authorizations',
      'Bearer s3cret',
    ])
    const { scenario, card, ...sent } = request
    const { expiry, scheme } = card
    expect(JSON.parse(seen?.body ?? '')).toEqual({ ...sent, card: { number: '4242424242424242', expiry, scheme } })
    await acquirer.authorize({ ...request, initiator: 'customer', card: { ...card, code: () => '123' } })
    expect(JSON.parse(stub.requests.at(-1)?.body ?? '')).toEqual({
      initiator: 'customer',
      card: { code: '123', number: '4242424242424242', expiry: '2066-08-31', scheme: 'visa' },
      idempotencyRef: attempt,
      merchantId,
      money: { currency: 'EUR', amount: 500 },
      descriptor: 'Coffee & John',
      planned: true,
      networkRef: 'n-1',
    })
  })

  it.each([
    [
      { verdict: 'approved', ref: 'r', networkRef: 'n' },
      { verdict: 'approved', ref: 'r', networkRef: 'n' },
    ],
    [declined('PAYMENT_CARD_LOST'), declined('PAYMENT_CARD_LOST')],
    [declined('05'), declined('PAYMENT_REJECTED_BY_ISSUER')],
    [declined('NOT_FOUND'), declined('PAYMENT_REJECTED_BY_ISSUER')],
    [{ verdict: 'unknown' }, { verdict: 'unknown' }],
  ])('reads the outcome of an authorization and of an inquiry: %j', async (body, outcome) => {
    answer = { body }
    expect(await acquirer.authorize(request)).toEqual(outcome)
    expect(await acquirer.inquire(attempt)).toEqual(outcome)
    expect(lastRequest()).toEqual({ method: 'GET', url: `/cards/authorizations/${attempt}`, body: '' })
  })

  it.each<[string, string, StubAnswer]>([
    ['a status of failure', 'the acquirer answered 500', { status: 500, body: { verdict: 'approved', ref: 'r' } }],
    [
      'a redirect',
      'the acquirer answered 302',
      { status: 302, body: { verdict: 'approved', ref: 'r' }, headers: { location: '/' } },
    ],
    ['no JSON', 'the answer of the acquirer is no JSON', { body: 'approved' }],
    ['another verdict', '"invalid_union"', { body: { verdict: 'maybe' } }],
    ['no reference', '"invalid_union"', { body: { verdict: 'approved' } }],
    ['nothing', 'received null', { body: '' }],
  ])('throws for an answer with %s: %s', async (_name, error, broken) => {
    answer = broken
    await expect(acquirer.authorize(request)).rejects.toThrow(error)
    await expect(acquirer.inquire(attempt)).rejects.toThrow(error)
    await expect(acquirer.reverse(attempt)).rejects.toThrow(error)
    await expect(acquirer.submit(task)).rejects.toThrow(error)
  })

  it('reads 404 to an inquiry as a decline, because the acquirer was never asked to authorize', async () => {
    answer = { status: 404 }
    expect(await acquirer.inquire(attempt)).toEqual(declined('PAYMENT_METHOD_ERROR'))
    await expect(acquirer.authorize(request)).rejects.toThrow('404')
  })

  it.each([
    { ref: 'r\0' },
    { ref: 'r\ud800' },
    { ref: 'r', networkRef: 'n\0' },
    { ref: 'r', networkRef: '\udc00' },
    { ref: 'r'.repeat(256) },
  ])(
    'accepts no approval with %j, which cannot be stored exactly, but gives it back after an inquiry',
    async (refs) => {
      answer = { body: { verdict: 'approved', ...refs } }
      await expect(acquirer.authorize(request)).rejects.toThrow(/"(ref|networkRef)"/)
      expect((await acquirer.inquire(attempt)).verdict).toBe('approved')
    },
  )

  it.each([
    ['no\0pe', 'no\ufffdpe'],
    ['\ud800', '\ufffd'],
    ['x'.repeat(1_001), 'x'.repeat(1_000)],
    [`${'x'.repeat(999)}\u{1f4b3}`, `${'x'.repeat(999)}\ufffd`],
  ])('replaces characters of a reason that cannot be stored (%#)', async (reason, fitted) => {
    answer = { body: { verdict: 'rejected', reason } }
    expect(await acquirer.submit(task)).toEqual({ verdict: 'rejected', reason: fitted })
  })

  it('masks the card number in a reason, also one that the longest reason would cut', async () => {
    const card = '4111111111111111'
    for (const [reason, masked] of [
      [`no ${card}`, 'no 9999999999999999'],
      [`${'x'.repeat(989)} ${card}`, `${'x'.repeat(989)} 9999999999`],
    ]) {
      answer = { body: { verdict: 'rejected', reason } }
      expect(await acquirer.submit(task)).toEqual({ verdict: 'rejected', reason: masked })
    }
  })

  it.each([{ verdict: 'accepted' }, { verdict: 'retry' }, { verdict: 'rejected', reason: 'closed' }])(
    'sends tasks, gives authorizations back, and reads the answer %j',
    async (body) => {
      answer = { body }
      expect(await acquirer.submit(task)).toEqual(body)
      expect(JSON.parse(stub.requests.at(-1)?.body ?? '')).toEqual(task)
      expect(await acquirer.reverse(attempt)).toEqual(body)
      expect(lastRequest()).toEqual({ method: 'POST', url: `/cards/authorizations/${attempt}/reversals`, body: '{}' })
    },
  )

  it('reads a page of events, and acknowledges its references', async () => {
    const events = [
      { type: 'dispute.opened', reference: 'e1', merchantId, acquirerRef: 'r', amount: 5, reasonCode: 4853 },
      { type: 'dispute.opened', reference: 'e2', merchantId, acquirerRef: 'r', amount: 5 },
      { type: 'dispute.won', reference: 'e3', merchantId, disputeReference: 'e1' },
      { type: 'fraud', reference: 'e4', merchantId, acquirerRef: 'r', reason: 0, reported: '2026-01-02T03:04:05.000Z' },
      { type: 'settlement', reference: 'e5', merchantId, money: { currency: 'EUR', amount: -5 } },
    ]
    answer = { body: events }
    expect(await acquirer.events(500)).toEqual({ events, unnamed: 0 })
    expect(lastRequest()).toEqual({ method: 'GET', url: '/cards/events?limit=500', body: '' })
    answer = { status: 204, body: '' }
    await acquirer.acknowledge(['e1', 'e2'])
    expect(lastRequest()).toEqual({
      method: 'POST',
      url: '/cards/events/acknowledgements',
      body: '{"references":["e1","e2"]}',
    })
  })

  const [known, unknown] = [
    { type: 'dispute.won', reference: 'e1', merchantId, disputeReference: 'd1' },
    { type: 'unknown', kind: 'fraud', merchantId },
  ]
  it.each<[string, object, object]>([
    [
      'a known kind in another form',
      { type: 'fraud', reference: 'e2', merchantId, acquirerRef: 0 },
      { ...unknown, reference: 'e2' },
    ],
    [
      'no kind, and card data',
      { reference: 'e2', merchantId, card: '4111111111111111' },
      { ...unknown, kind: '', reference: 'e2' },
    ],
    [
      'a reference with U+0000',
      { type: 'fraud', reference: 'x\0y', merchantId, acquirerRef: 'r' },
      { ...unknown, reference: 'x\0y' },
    ],
    [
      'a long reference',
      { type: 'fraud', reference: 'x'.repeat(256), merchantId, acquirerRef: 'r' },
      { ...unknown, reference: 'x'.repeat(256) },
    ],
    [
      'another merchant id',
      { type: 'fraud', reference: 'e2', merchantId: 'UNKNOWN', acquirerRef: 'r' },
      { ...unknown, reference: 'e2', merchantId: NO_MERCHANT },
    ],
    [
      'no merchant id',
      { type: 'report.available', reference: 'e2' },
      { ...unknown, kind: 'report.available', reference: 'e2', merchantId: NO_MERCHANT },
    ],
    [
      'U+0000 in its kind',
      { type: 'a\0', reference: 'e2', merchantId },
      { ...unknown, kind: 'a\ufffd', reference: 'e2' },
    ],
    [
      'a lone surrogate in its kind',
      { type: 'a\ud800', reference: 'e2', merchantId },
      { ...unknown, kind: 'a\ufffd', reference: 'e2' },
    ],
  ])('reads an event with %s as unknown, and the events around it', async (_name, event, read) => {
    answer = { body: [known, event, known] }
    expect(await acquirer.events(500)).toEqual({ events: [known, read, known], unnamed: 0 })
  })

  it('counts elements without a reference, and reads the events around them', async () => {
    answer = { body: [known, { type: 'fraud', merchantId }, null, 'x', { reference: '' }, known] }
    expect(await acquirer.events(500)).toEqual({ events: [known, known], unnamed: 4 })
    answer = { body: { events: [known] } }
    await expect(acquirer.events(500)).rejects.toThrow('expected array, received object')
  })

  it('reads a list of more than a mebibyte', async () => {
    answer = { body: [{ ...known, note: 'x'.repeat(2_000_000) }] }
    expect(await acquirer.events(500)).toEqual({ events: [known], unnamed: 0 })
  })

  const dispute = { type: 'dispute.opened', reference: 'e2', merchantId }
  const malformed = { ...unknown, kind: 'dispute.opened', reference: 'e2', disputed: null }
  const shown = (start: string) => expect.stringMatching(new RegExp(`^${start}.{${1_000 - start.length}}$`, 's'))
  const start = `{"type":"dispute.opened","reference":"e2","merchantId":"${merchantId}","a":"`
  it.each([
    ['digits in groups', '4242 '.repeat(1_000_000)],
    ['encoded digits', '%34'.repeat(1_000_000)],
  ])('reads an event with a long text of %s, and the events around it', async (_name, long) => {
    answer = { body: [known, { ...dispute, a: long }, { type: long, reference: 'e3', merchantId }, known] }
    const cpu = process.threadCpuUsage()
    const { events, unnamed } = await acquirer.events(500)
    const { user } = process.threadCpuUsage(cpu)
    expect([events, unnamed]).toEqual([
      [
        known,
        { ...malformed, received: shown(start) },
        { ...unknown, kind: expect.anything(), reference: 'e3' },
        known,
      ],
      0,
    ])
    // Processing the JSON takes less time. Masking the whole text would throw or take many seconds.
    expect(user).toBeLessThan(2_000_000)
  })

  it.each([
    ['lists', '[', ']'],
    ['objects', '{"a":', '}'],
  ])('reads a dispute with 100,000 levels of %s, and the events around it', async (_name, open, close) => {
    const nested = (levels: number, innermost: string) =>
      JSON.stringify({ ...dispute, amount: 7, a: 0 }).replace(
        /0}$/,
        `${open.repeat(levels)}${innermost}${close.repeat(levels)}}`,
      )
    answer = { body: `[${JSON.stringify(known)},${nested(100_000, '1')},${JSON.stringify(known)}]` }
    const event = nested(31, '"\u2026"')
    const read = { ...malformed, disputed: { amount: 7, currency: undefined }, received: event }
    expect(await acquirer.events(500)).toEqual({ events: [known, read, known], unnamed: 0 })
  })
})
