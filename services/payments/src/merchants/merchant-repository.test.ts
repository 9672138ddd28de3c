import { anyId, anyUuid } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callerOf, credentialsOf } from '../../test/caller.ts'
import { createTestApp, startPayments, type TestApp, type TestPayments, UNKNOWN_ID } from '../../test/payments-app.ts'
import { HIGHEST, LOWEST } from '../pagination/page-query.ts'
import { DEFAULT_CLAIM, type Merchant, type NewMerchant } from './merchant.ts'
import {
  callAdvanceClock,
  callCreateMerchant,
  callUpdateMerchant,
  listMerchants,
  readMerchant,
} from './merchant-repository.ts'
import { updateOperatorSettings } from './operator-merchant-repository.ts'

const NEW: NewMerchant = {
  name: null,
  currency: 'DKK',
  test: true,
  email: 'john@example.com',
  website: 'https://example.com',
  descriptor: 'Coffee & John',
  country: 'DK',
  companyNumber: '12345678',
  iban: null,
  holder: null,
  claim: DEFAULT_CLAIM,
  pricing: {
    rate: 135,
    flat: { currency: 'EUR', amount: 25 },
    dispute: { currency: 'EUR', amount: 2_500 },
  },
}
const ADVANCE = { method: 'POST', path: '/x', idempotencyKey: null, fingerprint: null }
const CENTURY_SECONDS = 3_153_600_000

let payments: TestPayments
let member: TestApp
let stranger: TestApp
beforeAll(async () => {
  payments = await startPayments()
  member = await createTestApp(payments)
  stranger = await createTestApp(payments)
})
afterAll(() => payments.close())

async function create(differences: Partial<NewMerchant> = {}, app = member): Promise<Merchant> {
  const merchant = { ...NEW, ...differences }
  const created = await callCreateMerchant(payments.deps.pools, { caller: callerOf(app), merchant })
  if (created.merchant === undefined) throw new Error(`no merchant was made: ${created.verdict}`)
  return created.merchant
}
const read = (merchantId: string, key = member.key) =>
  readMerchant(payments.deps.pools, { ...credentialsOf({ key }), merchantId })

describe('callCreateMerchant', () => {
  it('makes a merchant with its balance, and makes the caller a member', async () => {
    const merchant = await create()
    expect(merchant).toEqual({
      ...NEW,
      id: anyId,
      key: anyUuid,
      tdsMode: 'attempt',
      balance: 0n,
      created: expect.any(Date),
    })
    expect(await read(merchant.id)).toEqual({ verdict: 'done', identityId: member.id, merchant })
  })

  it('only judges access without a merchant', async () => {
    const judge = (key: string) =>
      callCreateMerchant(payments.deps.pools, { caller: callerOf({ key }), merchant: null })
    expect(await judge(member.key)).toEqual({ verdict: 'done', identityId: member.id, merchant: undefined })
    expect(await judge('unknown')).toEqual({ verdict: 'unauthorized', identityId: null, merchant: undefined })
  })

  it('answers a repeat with the first merchant, and refuses another body under the same key', async () => {
    const send = (fingerprint: number) => {
      const idempotentRequest = {
        method: 'POST',
        path: '/merchants',
        key: 'k',
        fingerprint: Buffer.alloc(32, fingerprint),
      }
      return callCreateMerchant(payments.deps.pools, { caller: callerOf(member, idempotentRequest), merchant: NEW })
    }
    const { merchant } = await send(1)
    expect(await send(1)).toEqual({ verdict: 'replayed', identityId: member.id, merchant })
    expect(await send(2)).toEqual({ verdict: 'key-mismatch', identityId: member.id, merchant })
  })
})

describe('readMerchant', () => {
  it('judges key, merchant and membership in this order', async () => {
    const merchant = await create()
    expect([
      await read(UNKNOWN_ID, 'unknown'),
      await read(UNKNOWN_ID, stranger.key),
      await read(merchant.id, stranger.key),
    ]).toEqual([
      { verdict: 'unauthorized', identityId: null, merchant: undefined },
      { verdict: 'not-found', identityId: stranger.id, merchant: undefined },
      { verdict: 'forbidden', identityId: stranger.id, merchant },
    ])
  })
})

describe('callUpdateMerchant', () => {
  const update = (merchantId: string, changes: object, fixed = {}) =>
    callUpdateMerchant(payments.deps.pools, { caller: callerOf(member), merchantId, changes, fixed })

  it('changes the members that are given, and takes a name away', async () => {
    const merchant = await create({ name: 'Coffee' })
    expect(await update(merchant.id, { descriptor: 'Tea' })).toEqual({
      verdict: 'done',
      identityId: member.id,
      differing: [],
    })
    await update(merchant.id, { name: null })
    expect((await read(merchant.id)).merchant).toEqual({ ...merchant, descriptor: 'Tea', name: null })
  })

  it('changes nothing when a fixed member differs, and names each that does', async () => {
    const merchant = await create()
    const fixed = { currency: 'EUR', test: true, website: 'https://example.org' }
    const { differing } = await update(merchant.id, { name: 'New' }, fixed)
    expect(differing.toSorted()).toEqual(['currency', 'website'])
    expect((await read(merchant.id)).merchant).toEqual(merchant)
  })
})

describe('listMerchants', () => {
  let ids: readonly string[]
  let owner: TestApp
  beforeAll(async () => {
    owner = await createTestApp(payments)
    const created: string[] = []
    for (const test of [true, false, true, true]) created.push((await create({ test }, owner)).id)
    ids = created
  })
  const list = async (bounds: { order?: 'newest-first' | 'oldest-first'; [member: string]: unknown } = {}) => {
    const { order = 'newest-first', ...changes } = bounds
    const page = { limit: 10, above: LOWEST, below: HIGHEST, test: undefined, identityId: owner.id }
    const found = await listMerchants(payments.deps.pools, { ...credentialsOf(owner), ...page, ...changes }, order)
    return { verdict: found.verdict, places: found.merchants.map(({ id }) => ids.indexOf(id)) }
  }

  it.each([
    ['the newest first', {}, [3, 2, 1, 0]],
    ['the oldest first', { order: 'oldest-first' }, [0, 1, 2, 3]],
    ['as many as the limit', { limit: 2 }, [3, 2]],
    ['none for a limit of 0', { limit: 0 }, []],
    ['test merchants alone', { test: true }, [3, 2, 0]],
    ['live merchants alone', { test: false }, [1]],
  ] as const)('lists %s', async (_case, bounds, places) => {
    expect(await list(bounds)).toEqual({ verdict: 'done', places })
  })

  it('lists what is between two ids, without these two', async () => {
    expect(await list({ above: ids[0], below: ids[3] })).toEqual({ verdict: 'done', places: [2, 1] })
  })

  it('shows the list of another identity to nobody, and tells it from an unknown one', async () => {
    expect(await list({ identityId: stranger.id })).toEqual({ verdict: 'forbidden', places: [] })
    expect(await list({ identityId: UNKNOWN_ID })).toEqual({ verdict: 'not-found', places: [] })
  })
})

describe('callAdvanceClock', () => {
  const advanceBy = (merchantId: string, advance: number | null) =>
    callAdvanceClock(payments.deps.pools, { ...credentialsOf(member), ...ADVANCE, merchantId, advance })

  it('goes 100 years ahead, and not a second further', async () => {
    const { id } = await create()
    const far = await advanceBy(id, CENTURY_SECONDS)
    const advanced = { verdict: 'advanced', now: expect.any(Date) }
    expect(far).toEqual({ verdict: 'done', identityId: member.id, outcome: advanced })
    const now = far.outcome?.verdict === 'advanced' ? far.outcome.now.getTime() : 0
    expect(Math.round((now - Date.now()) / 1_000 / 60)).toBe(CENTURY_SECONDS / 60)
    const refused = { verdict: 'limit-exceeded' }
    expect(await advanceBy(id, 1)).toEqual({ verdict: 'done', identityId: member.id, outcome: refused })
  })

  it('refuses a live merchant, also to a member', async () => {
    const { id } = await create({ test: false })
    expect(await advanceBy(id, 1)).toEqual({ verdict: 'forbidden', identityId: member.id, outcome: undefined })
  })
})

describe('updateOperatorSettings', () => {
  it('changes what an operator names, and leaves the rest', async () => {
    const { id } = await create()
    const change = { claim: { canRefund: false }, pricing: { rate: 200 }, acquirer: 'north' }
    expect(await updateOperatorSettings(payments.owner.db, id, change)).toEqual({
      id,
      claim: { ...NEW.claim, canRefund: false },
      pricing: { ...NEW.pricing, rate: 200 },
      tdsMode: 'attempt',
      acquirer: 'north',
    })
  })

  it('throws for an unknown merchant', async () => {
    await expect(updateOperatorSettings(payments.owner.db, UNKNOWN_ID, {})).rejects.toThrow(
      new Error(`there is no merchant ${UNKNOWN_ID}`),
    )
  })
})
