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

/** For operations that nobody waits for any more when their test ends. */
const abandon = (answer: Promise<unknown>) => void answer.catch(() => {})

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('createMoveQueue', () => {
  it('sends operations together, each transaction once at a time', async () => {
    const { begun, move } = controlledQueue()
    const answers = [1, 2, 3, 3].map((number) => move(moveOf(id(number))))
    await turn()
    expect(begun.map(({ ids }) => ids)).toEqual([[id(1), id(2), id(3)]])
    begun[0]?.done()
    await turn()
    expect(begun[1]?.ids).toEqual([id(3)])
    begun[1]?.done()
    expect(await Promise.all(answers)).toMatchObject([
      { identityId: id(1) },
      { identityId: id(2) },
      { identityId: id(3) },
      { identityId: id(3) },
    ])
  })

  it('takes 128 at a time at most', async () => {
    const { begun, move } = controlledQueue()
    for (let number = 0; number < 200; number++) abandon(move(moveOf(id(number))))
    await turn()
    expect(begun[0]?.ids).toHaveLength(128)
  })

  // ASVS 15.2.2
  it('503: when 4,096 wait', async () => {
    const { begun, move } = controlledQueue()
    abandon(move(moveOf(id(0))))
    abandon(move(moveOf(id(0))))
    await turn()
    for (let number = 0; number < 4_095; number++) abandon(move(moveOf(id(0))))
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
    abandon(move(moveOf(id(2))))
    for (const tag of [TAG, '00000000', '11111111']) abandon(move(moveOf(id(1, tag))))
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

  it('takes for a new one what comes with a key while its batch is repeated one by one', async () => {
    const { begun, move } = controlledQueue({ isWorthRepeating: () => true })
    const first = move(moveOf(id(1), withKey('k')))
    const other = move(moveOf(id(2)))
    await turn()
    const second = move(moveOf(id(1), withKey('k')))
    begun[0]?.fail(new Error('batch'))
    await turn()
    const third = move(moveOf(id(1), withKey('k')))
    expect(begun.slice(1).map(({ ids }) => ids)).toEqual([[id(1)], [id(2)]])
    begun[1]?.done()
    begun[2]?.done()
    await turn()
    expect(begun[3]?.ids).toEqual([id(1)])
    begun[3]?.done()
    const verdicts = (await Promise.all([first, other, second, third])).map(({ verdict }) => verdict)
    expect(verdicts).toEqual(['done', 'done', 'done', 'replayed'])
    expect(begun).toHaveLength(4)
  })
})
