import { describe, expect, it } from 'vitest'
import { createMoveQueue, type MoveQueueOptions } from './move-queue.ts'
import type { Move, MoveResult } from './move-repository.ts'

const TAG = '89abcdef'
const id = (number: number, tag = TAG) => number.toString(16).padStart(16, '0') + tag

function moveOf(transactionId: string, changes: Partial<Move> = {}): Move {
  return {
    keyMac: Buffer.alloc(32),
    person: null,
    transactionId,
    operation: 'capture',
    amount: 1,
    repeat: undefined,
    ...changes,
  }
}

const withKey = (key: string, fingerprint = 1): Partial<Move> => ({
  repeat: { method: 'POST', path: '/x', key, fingerprint: Buffer.alloc(32, fingerprint) },
})

/** A queue whose batches the test ends; the ones that began are in `begun`. */
function controlledQueue(changes: Partial<MoveQueueOptions> = {}) {
  const begun: { ids: string[]; done: () => void; fail: (error: Error) => void }[] = []
  const queue = createMoveQueue({
    carryOut: (moves) =>
      new Promise((resolve, reject) => {
        const ids = moves.map(({ transactionId }) => transactionId)
        const results = ids.map((each) => ({ verdict: 'done', identityId: each, transaction: {} }) as MoveResult)
        begun.push({ ids, done: () => resolve(results), fail: reject })
      }),
    isWorthRepeating: () => false,
    scope: 'any',
    ...changes,
  })
  return { begun, move: queue.move }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('createMoveQueue', () => {
  it('sends one alone at once, and with it those of the same turn', async () => {
    const { begun, move } = controlledQueue()
    const answers = [1, 2, 3].map((number) => move(moveOf(id(number))))
    await turn()
    expect(begun.map(({ ids }) => ids)).toEqual([[id(1), id(2), id(3)]])
    begun[0]?.done()
    expect(await Promise.all(answers)).toMatchObject([
      { identityId: id(1) },
      { identityId: id(2) },
      { identityId: id(3) },
    ])
  })

  it('gathers what arrives while two batches are under way, the second as large as the first', async () => {
    const { begun, move } = controlledQueue()
    const answers: Promise<MoveResult>[] = []
    const arrive = async (...numbers: readonly number[]) => {
      answers.push(...numbers.map((number) => move(moveOf(id(number)))))
      await turn()
    }
    await arrive(1, 2)
    await arrive(3)
    expect(begun.map(({ ids }) => ids)).toEqual([[id(1), id(2)]])
    await arrive(4)
    expect(begun[1]?.ids).toEqual([id(3), id(4)])
    await arrive(5, 6, 7)
    expect(begun).toHaveLength(2)
    begun[1]?.done()
    await turn()
    expect(begun[2]?.ids).toEqual([id(5), id(6), id(7)])
    for (const { done } of begun) done()
    expect(await Promise.all(answers)).toHaveLength(7)
  })

  it('sends a small rest when nothing else is under way', async () => {
    const { begun, move } = controlledQueue()
    const first = [1, 2, 3].map((number) => move(moveOf(id(number))))
    await turn()
    const rest = move(moveOf(id(4)))
    await turn()
    expect(begun).toHaveLength(1)
    begun[0]?.done()
    await turn()
    begun[1]?.done()
    expect(await Promise.all([...first, rest])).toHaveLength(4)
  })

  it('has a transaction once at a time, in the order of arrival, and lets others pass', async () => {
    const { begun, move } = controlledQueue()
    const order: number[] = []
    for (const number of [1, 2, 3]) void move(moveOf(id(7), { amount: number })).then(() => order.push(number))
    const other = move(moveOf(id(8)))
    await turn()
    expect(begun.map(({ ids }) => ids)).toEqual([[id(7), id(8)]])
    const late = move(moveOf(id(9)))
    await turn()
    expect(begun[1]?.ids).toEqual([id(9)])
    for (let index = 0; index < 5; index++) {
      for (const { done } of begun) done()
      await turn()
    }
    await Promise.all([other, late])
    expect(order).toEqual([1, 2, 3])
    expect(begun.slice(2).map(({ ids }) => ids)).toEqual([[id(7)], [id(7)]])
  })

  it('takes 128 at a time at most', async () => {
    const { begun, move } = controlledQueue()
    for (let number = 0; number < 300; number++) void move(moveOf(id(number)))
    await turn()
    expect(begun.map(({ ids }) => ids.length)).toEqual([128, 128])
    for (const { done } of begun) done()
    await turn()
    expect(begun[2]?.ids).toHaveLength(44)
  })

  it('503: when 4,096 wait', async () => {
    const { begun, move } = controlledQueue()
    void move(moveOf(id(0)))
    void move(moveOf(id(0)))
    await turn()
    for (let number = 0; number < 4_095; number++) void move(moveOf(id(0)))
    await expect(move(moveOf(id(0)))).rejects.toMatchObject({
      status: 503,
      code: 'SERVER_BUSY',
      headers: { 'retry-after': '1' },
    })
    begun[0]?.done()
    await turn()
    expect(begun[1]?.ids).toEqual([id(0)])
  })

  it('keeps a batch to one merchant where it is told so', async () => {
    const { begun, move } = controlledQueue({ scope: 'merchant' })
    void move(moveOf(id(2)))
    for (const tag of [TAG, '00000000', '11111111']) void move(moveOf(id(1, tag)))
    await turn()
    expect(begun.map(({ ids }) => ids.map((each) => each.slice(16)))).toEqual([[TAG, TAG], ['00000000']])
  })

  it('gives one effect to all that wait with one key and body', async () => {
    const { begun, move } = controlledQueue()
    const same = [1, 2, 3].map(() => move(moveOf(id(1), withKey('k'))))
    const others = [withKey('l'), withKey('k', 2)].map((changes) => move(moveOf(id(1), changes)))
    const stranger = move(moveOf(id(1), { ...withKey('k'), keyMac: Buffer.alloc(32, 9) }))
    for (let index = 0; index < 5; index++) {
      await turn()
      for (const { done } of begun) done()
    }
    expect((await Promise.all(same)).map(({ verdict }) => verdict)).toEqual(['done', 'replayed', 'replayed'])
    expect((await Promise.all([...others, stranger])).map(({ verdict }) => verdict)).toEqual(['done', 'done', 'done'])
    expect(begun).toHaveLength(4)
  })

  it('repeats a refused batch one by one, and lets one fail alone', async () => {
    const { begun, move } = controlledQueue({ isWorthRepeating: () => true })
    const answers = [1, 2, 3].map((number) => move(moveOf(id(number))).catch(({ message }: Error) => message))
    await turn()
    begun[0]?.fail(new Error('batch'))
    await turn()
    expect(begun.slice(1).map(({ ids }) => ids)).toEqual([[id(1)], [id(2)], [id(3)]])
    begun[1]?.done()
    begun[2]?.fail(new Error('second'))
    begun[3]?.done()
    expect(await Promise.all(answers)).toEqual([
      expect.objectContaining({ identityId: id(1) }),
      'second',
      expect.objectContaining({ identityId: id(3) }),
    ])
  })

  it('repeats nothing of a batch whose outcome nobody knows', async () => {
    const { begun, move } = controlledQueue()
    const answers = [1, 2].map((number) => move(moveOf(id(number))).catch(({ message }: Error) => message))
    await turn()
    begun[0]?.fail(new Error('connection lost'))
    expect(await Promise.all(answers)).toEqual(['connection lost', 'connection lost'])
    expect(begun).toHaveLength(1)
  })
})
