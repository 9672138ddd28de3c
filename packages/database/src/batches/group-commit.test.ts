import { AsyncLocalStorage } from 'node:async_hooks'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createGroupCommit, type GroupCommitOptions } from './group-commit.ts'

/** An item. `number` distinguishes items with the same key. */
interface Item {
  readonly key: string
  readonly number: number
}

const item = (key: number | string, number = 0): Item => ({ key: String(key), number })

interface Changes extends Partial<GroupCommitOptions<Item, Item>> {
  readonly hasKeys?: boolean
}

/** A group commit whose batches the test ends, with its running batches in `begun`. An item is its own result. */
function controlled({ hasKeys = true, ...changes }: Changes = {}) {
  const begun: { keys: string[]; done: (results?: readonly Item[]) => void; fail: (error: Error) => void }[] = []
  const { add } = createGroupCommit<Item, Item>({
    carryOut: (items) =>
      new Promise((resolve, reject) => {
        const done = (results = items) => resolve(results)
        begun.push({ keys: items.map(({ key }) => key), done, fail: reject })
      }),
    ...(hasKeys ? { keyOf: ({ key }: Item) => key } : {}),
    isWorthRepeating: () => false,
    sizeMax: 100,
    tooMany: () => new Error('too many'),
    ...changes,
  })
  return { begun, add, keys: () => begun.map(({ keys }) => keys) }
}

/** Ignores the result of an item that may still wait at the end of its test. */
const abandon = (answer: Promise<unknown>) => void answer.catch(() => {})

const turn = () => new Promise((resolve) => setImmediate(resolve))

// Use a fake clock, so that a pause of the machine cannot make a batch slow. Keep the real `setImmediate`, which waits for the
// end of a tick of the event loop.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

describe('createGroupCommit', () => {
  it('sends items of one turn of the event loop together, at once', async () => {
    const { begun, add, keys } = controlled()
    const answers = [1, 2, 3].map((key) => add(item(key)))
    await turn()
    expect(keys()).toEqual([['1', '2', '3']])
    begun[0]?.done()
    expect(await Promise.all(answers)).toEqual([item(1), item(2), item(3)])
  })

  it('gathers items while two batches are under way, and starts the second when it is as large as the first', async () => {
    const { begun, add, keys } = controlled()
    const answers: Promise<Item>[] = []
    const arrive = async (...arriving: readonly number[]) => {
      answers.push(...arriving.map((key) => add(item(key))))
      await turn()
    }
    await arrive(1, 2)
    await arrive(3)
    expect(keys()).toEqual([['1', '2']])
    await arrive(4)
    expect(begun[1]?.keys).toEqual(['3', '4'])
    await arrive(5, 6, 7)
    expect(begun).toHaveLength(2)
    begun[1]?.done()
    await turn()
    expect(begun[2]?.keys).toEqual(['5', '6', '7'])
    for (const { done } of begun) done()
    expect(await Promise.all(answers)).toHaveLength(7)
  })

  it('sends a small batch as soon as no other batch is under way', async () => {
    const { begun, add } = controlled()
    const first = [1, 2, 3].map((key) => add(item(key)))
    await turn()
    const rest = add(item(4))
    await turn()
    expect(begun).toHaveLength(1)
    begun[0]?.done()
    await turn()
    begun[1]?.done()
    expect(await Promise.all([...first, rest])).toHaveLength(4)
  })

  it('runs items of one key one after the other, in the order of arrival, and lets other keys pass', async () => {
    const { begun, add, keys } = controlled()
    const order: number[] = []
    for (const number of [1, 2, 3]) abandon(add(item(7, number)).then((result) => order.push(result.number)))
    const other = add(item(8))
    await turn()
    expect(keys()).toEqual([['7', '8']])
    const late = add(item(9))
    await turn()
    expect(begun[1]?.keys).toEqual(['9'])
    for (let index = 0; index < 5; index++) {
      for (const { done } of begun) done()
      await turn()
    }
    await Promise.all([other, late])
    expect(order).toEqual([1, 2, 3])
    expect(keys().slice(2)).toEqual([['7'], ['7']])
  })

  it('takes at most sizeMax items, and only items that fit the first', async () => {
    const { begun, add } = controlled()
    for (let key = 0; key < 250; key++) abandon(add(item(key)))
    await turn()
    expect(begun.map(({ keys }) => keys.length)).toEqual([100, 100])
    for (const { done } of begun) done()
    await turn()
    expect(begun[2]?.keys).toHaveLength(50)

    const even = controlled({ fits: (one, first) => one.number % 2 === first.number % 2 })
    for (const number of [1, 2, 3, 4]) abandon(even.add(item(number, number)))
    await turn()
    expect(even.keys()).toEqual([
      ['1', '3'],
      ['2', '4'],
    ])
  })

  it('refuses an item while 4,096 items wait', async () => {
    const { begun, add } = controlled()
    abandon(add(item(0)))
    abandon(add(item(0)))
    await turn()
    for (let number = 0; number < 4_095; number++) abandon(add(item(0)))
    await expect(add(item(0))).rejects.toThrow('too many')
    begun[0]?.done()
    await turn()
    expect(begun[1]?.keys).toEqual(['0'])
  })

  it('repeats a refused batch one by one, so that only the item at fault fails', async () => {
    const { begun, add, keys } = controlled({ isWorthRepeating: () => true })
    const answers = [1, 2, 3].map((key) => add(item(key)).catch(({ message }: Error) => message))
    await turn()
    begun[0]?.fail(new Error('batch'))
    await turn()
    expect(keys().slice(1)).toEqual([['1'], ['2'], ['3']])
    begun[1]?.done()
    begun[2]?.fail(new Error('second'))
    begun[3]?.done()
    expect(await Promise.all(answers)).toEqual([item(1), 'second', item(3)])
  })

  it('starts the next item of a key as soon as the repeat of the first one has ended', async () => {
    const { begun, add, keys } = controlled({ isWorthRepeating: () => true })
    for (const key of [1, 2]) abandon(add(item(key)))
    await turn()
    const next = add(item(1, 2))
    begun[0]?.fail(new Error('batch'))
    await turn()
    begun[1]?.done()
    await turn()
    expect(keys()).toEqual([['1', '2'], ['1'], ['2'], ['1']])
    begun[3]?.done()
    expect(await next).toEqual(item(1, 2))
  })

  it('repeats no item of a batch whose outcome is unknown', async () => {
    const { begun, add } = controlled()
    const answers = [1, 2].map((key) => add(item(key)).catch((error: Error) => error.message))
    await turn()
    begun[0]?.fail(new Error('connection lost'))
    expect(await Promise.all(answers)).toEqual(['connection lost', 'connection lost'])
    expect(begun).toHaveLength(1)
  })

  it('rejects only the items that got no result', async () => {
    const { begun, add } = controlled()
    const answers = [1, 2].map((key) => add(item(key)).catch((error: Error) => error.message))
    await turn()
    begun[0]?.done([item(1)])
    expect(await Promise.all(answers)).toEqual([item(1), 'an item was left without a result'])
  })

  it('sends equal items together when items have no keys', async () => {
    const { add, keys } = controlled({ hasKeys: false })
    for (let times = 0; times < 3; times++) abandon(add(item(1)))
    await turn()
    expect(keys()).toEqual([['1', '1', '1']])
  })

  it('runs each batch in the context of its first item', async () => {
    const requests = new AsyncLocalStorage<string>()
    const seen: (string | undefined)[] = []
    const { add } = createGroupCommit<Item, Item>({
      carryOut: async (items) => {
        seen.push(requests.getStore())
        return items
      },
      keyOf: ({ key }) => key,
      isWorthRepeating: () => false,
      sizeMax: 1,
      tooMany: () => new Error('too many'),
    })
    await Promise.all([1, 2, 3, 4].map((key) => requests.run(`request ${key}`, () => add(item(key)))))
    expect(seen).toEqual(['request 1', 'request 2', 'request 3', 'request 4'])
  })
})

describe('createGroupCommit, when the database is slow', () => {
  it('lets only items of the same keys wait for a slow batch', async () => {
    const { begun, add, keys } = controlled()
    for (const key of [1, 2, 3]) abandon(add(item(key)))
    await turn()
    const late = [add(item(4)), add(item(1))]
    await turn()
    await vi.advanceTimersByTimeAsync(99)
    expect(keys()).toEqual([['1', '2', '3']])
    await vi.advanceTimersByTimeAsync(1)
    expect(keys()).toEqual([['1', '2', '3'], ['4']])
    for (const { done } of begun) done()
    await turn()
    begun[2]?.done()
    expect(keys()).toEqual([['1', '2', '3'], ['4'], ['1']])
    expect(await Promise.all(late)).toEqual([item(4), item(1)])
  })

  it('refuses an item that has waited for 5 s, and never sends it', async () => {
    const { begun, add, keys } = controlled()
    abandon(add(item(1, 1)))
    await turn()
    const refused = vi.fn()
    add(item(1, 2)).catch(refused)
    await vi.advanceTimersByTimeAsync(3_000)
    const patient = add(item(1, 3))
    await vi.advanceTimersByTimeAsync(1_999)
    expect(refused).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(refused).toHaveBeenCalledWith(new Error('too many'))
    begun[0]?.done()
    await turn()
    begun[1]?.done()
    expect(await patient).toEqual(item(1, 3))
    expect(keys()).toEqual([['1'], ['1']])
  })

  it('refuses each item 5 s after its own arrival', async () => {
    const { begun, add, keys } = controlled()
    abandon(add(item(1, 1)))
    await turn()
    abandon(add(item(1, 2)))
    await vi.advanceTimersByTimeAsync(3_000)
    const refused = vi.fn()
    add(item(1, 3)).catch(refused)
    await vi.advanceTimersByTimeAsync(4_999)
    expect(refused).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(refused).toHaveBeenCalledTimes(1)
    begun[0]?.done()
    await turn()
    expect(keys()).toEqual([['1']])
  })

  it('has at most eight batches under way', async () => {
    const { begun, add } = controlled()
    for (let key = 0; key < 12; key++) {
      abandon(add(item(key)))
      await turn()
      await vi.advanceTimersByTimeAsync(100)
    }
    expect(begun.map(({ keys }) => keys)).toEqual(Array.from({ length: 8 }, (_, key) => [String(key)]))
    begun[0]?.done()
    await turn()
    expect(begun[8]?.keys).toEqual(['8', '9', '10', '11'])
  })

  it('repeats the items of a failed batch in at most eight transactions at a time', async () => {
    const { begun, add, keys } = controlled({ isWorthRepeating: () => true })
    const answers = Array.from({ length: 12 }, (_, key) => add(item(key)))
    await turn()
    begun[0]?.fail(new Error('batch'))
    await turn()
    expect(keys().slice(1)).toEqual(Array.from({ length: 8 }, (_, key) => [String(key)]))
    for (let repeat = 1; repeat <= 12; repeat++) {
      begun[repeat]?.done()
      await turn()
    }
    expect(await Promise.all(answers)).toEqual(Array.from({ length: 12 }, (_, key) => item(key)))
  })
})
