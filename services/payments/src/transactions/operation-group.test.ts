import { createNoopMeter } from '@opentelemetry/api'
import type { ErrorFactory } from '@trestle/common/errors/define-error.ts'
import type { QueryPool } from '@trestle/database/pools.ts'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { conflict, serverBusy } from '../errors.ts'
import { createOperationGroup, type Operation, type OperationGroupOptions } from './operation-group.ts'

const TAG = '89abcdef'
const id = (number: number, tag = TAG) => number.toString(16).padStart(16, '0') + tag

function operationOf(transactionId: string, changes: Partial<Operation> = {}): Operation {
  return {
    keyMac: Buffer.alloc(32),
    userEmail: null,
    transactionId,
    kind: 'capture',
    amount: 1,
    idempotentRequest: undefined,
    ...changes,
  }
}

const withKey = (key: string, fingerprint = 1): Partial<Operation> => ({
  idempotentRequest: { method: 'POST', path: '/x', key, fingerprint: Buffer.alloc(32, fingerprint) },
})

/** The fields of operations that the stub reads. */
const Operations = z.array(z.object({ transactionId: z.string() }))

/** Creates a group whose database calls end only when the test ends them. `begun` lists the calls that have begun. */
function controlledGroup(changes: Partial<OperationGroupOptions> = {}) {
  const begun: { ids: string[]; done: () => void; fail: (error: Error) => void }[] = []
  /** Takes the operations as the JSON of the statement and returns the rows as JSON. */
  const begin = (operations: string) =>
    new Promise<string>((resolve, reject) => {
      const ids = Operations.parse(JSON.parse(operations)).map(({ transactionId }) => transactionId)
      const rows = JSON.stringify(ids.map((each) => ({ verdict: 'done', identity_id: each })))
      begun.push({ ids, done: () => resolve(rows), fail: reject })
    })
  const unexpected = () => Promise.reject(new Error('the group runs one statement only'))
  const write: QueryPool = {
    one: unexpected,
    first: unexpected,
    all: async (_query, input) => JSON.parse(await begin('operations' in input ? String(input.operations) : '[]')),
  }
  const terms = { marginBasisPoints: 0, ageDaysMax: 7 }
  const group = createOperationGroup({
    pools: { write },
    meter: createNoopMeter(),
    terms,
    scope: () => 'any',
    ...changes,
  })
  return { begun, run: group.run }
}

/** Ignores the answer of an operation and its error. */
const abandon = (answer: Promise<unknown>) => void answer.catch(() => {})

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Returns the error of PostgreSQL for a lock timeout. The statement has had no effect. */
const lockTimeout = () => Object.assign(new pg.DatabaseError('lock timeout', 0, 'error'), { code: '55P03' })

describe('createOperationGroup', () => {
  it('sends operations together, each transaction once at a time', async () => {
    const { begun, run } = controlledGroup()
    const answers = [1, 2, 3, 3].map((number) => run(operationOf(id(number))))
    await turn()
    expect(begun.map(({ ids }) => ids)).toEqual([[id(1), id(2), id(3)]])
    begun[0]?.done()
    await turn()
    expect(begun[1]?.ids).toEqual([id(3)])
    begun[1]?.done()
    const identityIds = (await Promise.all(answers)).map(({ identityId }) => identityId)
    expect(identityIds).toEqual([id(1), id(2), id(3), id(3)])
  })

  it('sends at most 128 operations together', async () => {
    const { begun, run } = controlledGroup()
    for (let number = 0; number < 200; number++) abandon(run(operationOf(id(number))))
    await turn()
    expect(begun[0]?.ids).toHaveLength(128)
  })

  // ASVS 15.2.2
  it('503: refuses an operation while 4,096 wait', async () => {
    const { begun, run } = controlledGroup()
    abandon(run(operationOf(id(0))))
    abandon(run(operationOf(id(0))))
    await turn()
    for (let number = 0; number < 4_095; number++) abandon(run(operationOf(id(0))))
    await expect(run(operationOf(id(0)))).rejects.toEqual(serverBusy())
    begun[0]?.done()
    await turn()
    expect(begun[1]?.ids).toEqual([id(0)])
  })

  it('sends operations of one merchant only, with the scope merchant', async () => {
    const { begun, run } = controlledGroup({ scope: () => 'merchant' })
    abandon(run(operationOf(id(2))))
    for (const tag of [TAG, '00000000', '11111111']) abandon(run(operationOf(id(1, tag))))
    await turn()
    expect(begun.map(({ ids }) => ids.map((each) => each.slice(16)))).toEqual([[TAG, TAG], ['00000000']])
  })

  it('lets repeats with one key wait for the first request, then sends each of them itself', async () => {
    const { begun, run } = controlledGroup()
    const answers = [1, 2, 3].map(() => run(operationOf(id(1), withKey('k'))))
    for (let calls = 1; calls <= 3; calls++) {
      await turn()
      expect(begun.map(({ ids }) => ids)).toEqual(Array.from({ length: calls }, () => [id(1)]))
      begun[calls - 1]?.done()
    }
    expect(await Promise.all(answers)).toHaveLength(3)
  })

  it('sends the next repeat after a failure of the one before', async () => {
    const { begun, run } = controlledGroup()
    const identityOf = () =>
      run(operationOf(id(1), withKey('k'))).then(
        ({ identityId }) => identityId,
        ({ message }: Error) => message,
      )
    const answers = [identityOf(), identityOf()]
    await turn()
    begun[0]?.fail(new Error('failure'))
    await turn()
    expect(begun).toHaveLength(2)
    begun[1]?.done()
    expect(await Promise.all(answers)).toEqual(['failure', id(1)])
  })

  it('sends a repeat only when the single runs of a failed batch have ended', async () => {
    const { begun, run } = controlledGroup()
    const answers = [run(operationOf(id(1), withKey('k'))), run(operationOf(id(2)))]
    await turn()
    answers.push(run(operationOf(id(1), withKey('k'))))
    begun[0]?.fail(lockTimeout())
    await turn()
    expect(begun.slice(1).map(({ ids }) => ids)).toEqual([[id(1)], [id(2)]])
    begun[1]?.done()
    begun[2]?.done()
    await turn()
    expect(begun[3]?.ids).toEqual([id(1)])
    begun[3]?.done()
    expect(await Promise.all(answers)).toHaveLength(3)
    expect(begun).toHaveLength(4)
  })
})

describe('createOperationGroup, when the first request does not end', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it.each<[number, string, ErrorFactory, Partial<Operation>]>([
    [409, 'a repeat of it', conflict, withKey('k')],
    [503, 'another body with its key', serverBusy, withKey('k', 2)],
    [503, 'another key', serverBusy, withKey('l')],
    [503, 'another client', serverBusy, { ...withKey('k'), keyMac: Buffer.alloc(32, 9) }],
    [503, 'a user', serverBusy, { ...withKey('k'), keyMac: null, userEmail: 'john@example.com' }],
    [503, 'another operation without a key', serverBusy, {}],
  ])('%i: refuses %s after 5 s', async (_status, _what, expected, changes) => {
    const { begun, run } = controlledGroup()
    const first = run(operationOf(id(1), withKey('k')))
    await turn()
    const late = expect(run(operationOf(id(1), changes))).rejects.toEqual(expected())
    await vi.advanceTimersByTimeAsync(5_000)
    await late
    begun[0]?.done()
    await first
    expect(begun).toHaveLength(1)
  })
})
